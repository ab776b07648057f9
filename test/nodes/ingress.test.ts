/** Requests through the load balancer of an ingress controller to the pods of several sites. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installChart } from "../../dev-env/nodes/chart.ts";
import { CLIENT } from "../../dev-env/nodes/network/addresses.ts";
import type { World } from "../../dev-env/nodes/world.ts";
import { aPair } from "../support/certificates.ts";
import { eventually } from "../support/eventually.ts";
import { anEcho, fetchAsClient, startRealWorld } from "../support/real-world.ts";

const MANIFEST = fileURLToPath(new URL("../../dev-env/nodes/ingress.yaml", import.meta.url));
const SHOP = "shop.example.com";
const BLOG = "blog.example.com";
const { certificate, privateKey } = aPair({ domains: [SHOP] });

/** A plain Service for echo pods, and its Ingress. */
function aSite(app: string, host: string, spec: object = {}): readonly object[] {
  const backend = { service: { name: app, port: { number: 80 } } };
  const http = { paths: [{ path: "/", pathType: "Prefix", backend }] };
  return [
    anEcho("Deployment", app, {}, 2),
    {
      apiVersion: "v1",
      kind: "Service",
      metadata: { name: app },
      spec: { selector: { app }, ports: [{ port: 80, targetPort: 8080 }] },
    },
    {
      apiVersion: "networking.k8s.io/v1",
      kind: "Ingress",
      metadata: { name: app },
      spec: { ingressClassName: "traefik", rules: [{ host, http }], ...spec },
    },
  ];
}

describe("an ingress controller behind a load balancer", { timeout: 120_000 }, () => {
  let world: World;
  beforeAll(async () => {
    world = await startRealWorld();
    const secret = {
      apiVersion: "v1",
      kind: "Secret",
      metadata: { name: "shop-tls" },
      type: "kubernetes.io/tls",
      stringData: { "tls.crt": certificate, "tls.key": privateKey },
    };
    const tls = [{ hosts: [SHOP], secretName: "shop-tls" }];
    await world.kubectl("apply", `--filename=${MANIFEST}`);
    await world.apply(secret, ...aSite("shop", SHOP, { tls }), ...aSite("blog", BLOG));
    await installChart(world);
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  const address = () => world.cloud.state.loadBalancers.find("ingress")?.public_net.ipv4.ip;
  const get = (host: string) => fetchAsClient(`http://${address()}/`, { host });
  const answered = (host: string) => eventually(() => get(host), { timeoutMs: 90_000 });

  it("has the only load balancer, and its address in the status of every Ingress", async () => {
    await eventually(
      async () => {
        const format = "--output=jsonpath={.items[*].status.loadBalancer.ingress[0].ip}";
        expect(await world.kubectl("get", "ingresses", format)).toBe(`${address()} ${address()}`);
      },
      { timeoutMs: 90_000 },
    );
    expect(world.cloud.state.loadBalancers.values()).toHaveLength(1);
  });

  it("routes requests by host", async () => {
    expect(await answered(BLOG)).toMatchObject({ host: BLOG, pod: expect.stringMatching(/^blog-/) });
    await expect(get("other.example.com")).rejects.toThrow("404");
  });

  it("serves the certificate in the Secret that the Ingress names", async () => {
    const site = { host: SHOP, certificate };
    const report = await eventually(() => fetchAsClient(`https://${address()}/`, site), { timeoutMs: 90_000 });
    expect(report).toMatchObject({ host: SHOP, pod: expect.stringMatching(/^shop-/), tls: false });
    expect(report.headers["X-Forwarded-Proto"]).toEqual(["https"]);
  });

  it("passes on the client's address, which it knows from the PROXY protocol", async () => {
    expect((await answered(BLOG)).headers["X-Forwarded-For"]).toEqual([CLIENT]);
  });
});
