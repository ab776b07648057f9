import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { loadAllYaml, type V1Service } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

const FOLDER = fileURLToPath(new URL("../../dev-env/examples/", import.meta.url));
const EXAMPLES = readdirSync(FOLDER).filter((name) => name.endsWith(".yaml"));

let world: World;
let kubectl: (...args: readonly string[]) => Promise<string>;

beforeAll(async () => {
  world = await startWorld();
  const { paths } = await ensureToolchain(["kubectl"]);
  kubectl = async (...args) => {
    const child = spawn(paths.kubectl, ["--kubeconfig", world.cluster.kubeconfig, ...args]);
    const [output, errors, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
    if (code !== 0) throw new Error(`kubectl ${args.join(" ")}: ${errors}`);
    return output;
  };
  world.startController();
});

afterAll(() => world?.[Symbol.asyncDispose]());

/** The Services of type LoadBalancer in an example. */
function balanced(file: string): readonly V1Service[] {
  const objects = loadAllYaml(readFileSync(FOLDER + file, "utf8")) as readonly V1Service[];
  return objects.filter(({ kind, spec }) => kind === "Service" && spec?.type === "LoadBalancer");
}

function balancerOf({ metadata }: V1Service) {
  const balancers = world.cloud.state.loadBalancers.values();
  return balancers.find(({ labels }) => labels["hcloud-ccm/service-uid"] === metadata?.uid);
}

describe("the examples", () => {
  test.each(EXAMPLES)(
    "%s is accepted by the API server without a warning, and its Services get load balancers",
    async (file) => {
      await kubectl("apply", "--warnings-as-errors", "--validate=strict", "-f", FOLDER + file);
      for (const { metadata } of balanced(file)) {
        const name = metadata?.name ?? "";
        const service = await eventually(async () => {
          const found = await world.core.readNamespacedService({ namespace: "default", name });
          expect(found.status?.loadBalancer?.ingress, (await world.eventsAbout(name)).join("\n")).toBeTruthy();
          return found;
        });
        const balancer = balancerOf(service);
        expect(balancer?.targets).toHaveLength(3);
        // Listeners are created at the same time, in any order.
        expect(new Set(balancer?.services.map(({ listen_port }) => listen_port))).toEqual(
          new Set(service.spec?.ports?.map(({ port }) => port)),
        );
      }
    },
  );

  test("internal.yaml has no public interface, http.yaml an HTTP health check, https.yaml its certificate", async () => {
    const of = async (name: string) => {
      return balancerOf(await world.core.readNamespacedService({ namespace: "default", name }));
    };
    expect((await of("web-internal"))?.public_net.enabled).toBe(false);
    expect((await of("web-http"))?.services[0]).toMatchObject({
      protocol: "http",
      http: { sticky_sessions: true },
      health_check: { protocol: "http", interval: 5, timeout: 3, retries: 2, http: { path: "/health" } },
    });
    const certificate = world.cloud.state.certificates.find("web-https");
    expect((await of("web-https"))?.services[0]).toMatchObject({
      protocol: "https",
      http: { redirect_http: true, certificates: [certificate?.id] },
    });
  });

  test("are deleted completely", async () => {
    for (const file of EXAMPLES) await kubectl("delete", "--wait=false", "-f", FOLDER + file);
    await eventually(() => {
      expect(world.cloud.state.loadBalancers.size).toBe(0);
      expect(world.cloud.state.certificates.size).toBe(0);
    });
  });
});
