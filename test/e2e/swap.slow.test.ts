/** A migration from HCCM to Lotse and back, under traffic. */
import type { V1Service } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LoadBalancer } from "../../dev-env/cloud/resources/load-balancer-view.ts";
import { officialStarter } from "../bench/controllers.ts";
import { aPair } from "../support/certificates.ts";
import { Clients, type Place } from "../support/clients.ts";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { ensureBalancer, prepareNodes } from "../support/official.ts";
import { startWorld, type World } from "../support/world.ts";

/** Path of HCCM's binary, which is not part of this repository. */
const BINARY = process.env.LOTSE_OFFICIAL;
if (!BINARY)
  process.stderr.write("SKIPPED: HCCM's own binary, because LOTSE_OFFICIAL is not set; its calls are simulated\n");

const PORT = 8_080;
const CLOUD = { dataPlane: { timeScale: 0.1 }, rateLimit: "off" } as const;

/** Options with the same meaning for both controllers, in all combinations of load balancers. */
const SERVICES: Readonly<Record<string, Readonly<Record<string, string>>>> = {
  bare: {},
  checked: { "health-check-interval": "10s", "health-check-timeout": "5s", "health-check-retries": "2" },
  web: {
    protocol: "http",
    "http-sticky-sessions": "true",
    "http-cookie-name": "LB",
    "http-cookie-lifetime": "10m",
    "health-check-protocol": "http",
    "health-check-http-path": "/healthy",
  },
  "plain-web": { protocol: "http" },
  full: {
    name: "kept",
    type: "lb21",
    "algorithm-type": "least_connections",
    "ipv4-rdns": "full.example.com",
    "use-private-ip": "true",
    "uses-proxyprotocol": "true",
  },
  uploaded: { protocol: "https", "http-certificates": "shop" },
  managed: {
    protocol: "https",
    "certificate-type": "managed",
    "http-managed-certificate-domains": "shop.example.com",
  },
};
const SHOP = aPair({ domains: ["shop.example.com"] });

/** Runs HCCM until it has nothing left to do. */
type Official = (world: World) => Promise<void>;

/** A model that makes the same calls as HCCM's source code. */
const byItsCalls: Official = async (world) => {
  await prepareNodes(world);
  for (const service of await servicesOf(world)) await ensureBalancer(world, service);
};

/** HCCM's binary. It is done when it has logged every Service and made no requests for a while. */
const byItsBinary: Official = async (world) => {
  const ensured = async () => {
    const { items } = await world.core.listNamespacedEvent({ namespace: "default" });
    return items.filter(({ reason }) => reason === "EnsuredLoadBalancer").length;
  };
  const [before, wanted] = [await ensured(), (await servicesOf(world)).length];
  const official = officialStarter(BINARY ?? "", 5)(world);
  try {
    await eventually(async () => expect(await ensured()).toBeGreaterThanOrEqual(before + wanted), {
      timeoutMs: 90_000,
    });
    const lastCall = () => world.cloud.journal.writes.at(-1)?.at ?? 0;
    await eventually(() => expect(Date.now() - lastCall()).toBeGreaterThan(2_000));
  } finally {
    await official.stop();
  }
};

const OFFICIALS: readonly { readonly how: string; readonly official: Official }[] = [
  { how: "by its calls", official: byItsCalls },
  ...(BINARY ? [{ how: "by its binary", official: byItsBinary }] : []),
];

describe.each(OFFICIALS)("a migration from HCCM and back, $how", ({ official }) => {
  let world: World;
  let ours: ControllerProcess;
  const clients: Clients[] = [];
  const certificates = () => world.cloud.state.certificates.values();
  const shapes = () =>
    new Map(world.cloud.state.loadBalancers.values().map((balancer) => [balancer.id, shapeOf(balancer)]));
  const writesSince = (count: number) =>
    world.cloud.journal.writes.slice(count).map(({ method, path }) => `${method} ${path}`);
  const failures = () => clients.flatMap((each) => each.failures);
  const takeOver = async () => {
    const looks = () => world.cloud.journal.count({ method: "GET", path: "**/load_balancers", caller: "lotse" });
    const before = looks();
    ours = world.startController();
    await eventually(() => expect(looks()).toBeGreaterThan(before + 2));
  };

  beforeAll(async () => {
    world = await startWorld({ nodes: 3, cloud: CLOUD });
    world.startPods();
    const upload = { name: "shop", type: "uploaded", certificate: SHOP.certificate, private_key: SHOP.privateKey };
    await world.changeCloud("POST", "/certificates", upload);
    for (const [name, annotations] of Object.entries(SERVICES)) {
      await world.createService(name, annotations, name === "bare" ? [PORT, PORT + 1] : [PORT]);
    }
    await official(world);
    for (const service of await servicesOf(world)) {
      const asking = new Clients(placeOf(world, service), service.metadata?.name === "bare" ? 20 : 2);
      clients.push(asking);
      await eventually(() => expect(asking.answers.size).toBeGreaterThanOrEqual(3));
    }
    for (const each of clients) each.forget();
  });
  afterAll(async () => {
    await Promise.all(clients.map((each) => each.stop()));
    await world?.[Symbol.asyncDispose]();
  });

  it("Lotse takes over without changes, except one label of a load balancer, and without a failed request", async () => {
    const [balancers, services, issued] = [shapes(), await servicesOf(world), certificates()];
    const writesBefore = world.cloud.journal.writes.length;
    const failedBefore = failures().length;
    await takeOver();
    // Only this label shows, after the annotation is removed, that the reverse DNS came from the Service.
    const noted = `PUT /load_balancers/${world.cloud.state.loadBalancers.find("kept")?.id}`;
    await eventually(() => expect(writesSince(writesBefore)).toEqual([noted]));
    expect(shapes()).toEqual(balancers);
    expect(certificates()).toEqual(issued);
    expect((await servicesOf(world)).map(publishedOf)).toEqual(services.map(publishedOf));
    expect(failures().slice(failedBefore)).toEqual([]);
  });

  it("Lotse changes existing load balancers in place, and creates new ones", async () => {
    const ids = [...shapes().keys()];
    const body = [{ op: "remove", path: "/spec/ports/1" }];
    await world.core.patchNamespacedService({ namespace: "default", name: "bare", body });
    await world.createService("made-by-ours", { protocol: "http", "use-private-ip": "true" }, [PORT]);
    await eventually(async () => {
      const made = await world.core.readNamespacedService({ namespace: "default", name: "made-by-ours" });
      expect(made.status?.loadBalancer?.ingress?.length).toBeGreaterThan(0);
    });
    await eventually(() =>
      expect([...shapes().values()].map(({ services }) => services.length)).toEqual(ids.map(() => 1).concat(1)),
    );
    expect([...shapes().keys()].slice(0, -1)).toEqual(ids);
  });

  it("HCCM S10, S13, V4, C2, T2: HCCM finds every load balancer as it would have left it", async () => {
    await ours.stop();
    const [balancers, services, issued] = [shapes(), await servicesOf(world), certificates()];
    const failedBefore = failures().length;
    await official(world);
    expect(shapes()).toEqual(balancers);
    expect(certificates()).toEqual(issued);
    expect((await servicesOf(world)).map(publishedOf)).toEqual(services.map(publishedOf));
    expect(failures().slice(failedBefore)).toEqual([]);
  });

  it("Lotse takes over again, and deletes every load balancer with its Service", async () => {
    const writesBefore = world.cloud.journal.writes.length;
    await takeOver();
    expect(writesSince(writesBefore)).toEqual([]);
    expect(failures()).toEqual([]);
    for (const { metadata } of await servicesOf(world)) {
      await world.core.deleteNamespacedService({ namespace: "default", name: metadata?.name ?? "" });
    }
    await eventually(async () => expect(await servicesOf(world)).toEqual([]));
    expect(world.cloud.state.loadBalancers.values()).toEqual([]);
  });
});

async function servicesOf(world: World): Promise<readonly V1Service[]> {
  const { items } = await world.core.listNamespacedService({ namespace: "default" });
  return items.filter(({ spec }) => spec?.type === "LoadBalancer");
}

/** The address of a Service for its clients, with https if it has a certificate. */
function placeOf({ cloud }: World, { status }: V1Service): Place {
  const host = status?.loadBalancer?.ingress?.[0]?.ip ?? "";
  const balancer = cloud.state.loadBalancers.values().find(({ public_net }) => public_net.ipv4.ip === host);
  const id = balancer?.services[0]?.http?.certificates?.[0];
  const certificate = id === undefined ? undefined : cloud.state.certificates.get(id);
  const tls = certificate && { servername: "shop.example.com", ca: certificate.certificate ?? "" };
  return { host, port: PORT, ...(tls && { tls }) };
}

/** What a controller writes into the status. */
function publishedOf({ metadata, status }: V1Service) {
  return { name: metadata?.name, finalizers: metadata?.finalizers, ingress: status?.loadBalancer?.ingress };
}

/** Everything that a controller sets or a client depends on, without Lotse's own labels. */
function shapeOf({ targets, services, labels, ...rest }: LoadBalancer) {
  return {
    ...rest,
    labels: Object.fromEntries(Object.entries(labels).filter(([key]) => !key.startsWith("lotse/"))),
    services: services.toSorted((a, b) => a.listen_port - b.listen_port),
    targets: targets
      .map((target) => (target.type === "server" ? [target.server.id, target.use_private_ip] : target))
      .toSorted(),
  };
}
