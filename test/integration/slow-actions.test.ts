import { afterAll, beforeAll, expect, it } from "vitest";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

/** Far longer than everything else takes, also on a busy machine. */
const SLOW_MS = 40_000;

let world: World;
beforeAll(async () => {
  world = await startWorld({ nodes: 1 });
  world.startController();
});
afterAll(() => world[Symbol.asyncDispose]());

const ingressOf = async (name: string) =>
  (await world.core.readNamespacedService({ namespace: "default", name })).status?.loadBalancer?.ingress ?? [];
const isServed = (name: string) =>
  eventually(async () => expect((await ingressOf(name)).length).toBeGreaterThan(0), { timeoutMs: SLOW_MS });

it("no Service and no node waits for the slow action of another Service", { timeout: 180_000 }, async () => {
  await world.createService("first");
  await isServed("first");
  const fault = world.cloud.faults.add({
    method: "POST",
    path: "/load_balancers/*/actions/add_service",
    times: 1,
    effect: { kind: "slow-action", ms: SLOW_MS },
  });
  const started = performance.now();
  await world.observer.patch("/api/v1/namespaces/default/services/first", "strategic-merge", {
    spec: { ports: [{ name: "p81", port: 81, protocol: "TCP" }] },
  });
  // Not by the journal: the creation of the first load balancer has added a listener, too.
  await eventually(() => expect(fault.struck).toBe(1));

  await world.createService("second");
  await isServed("second");
  const server = world.cloud.addServer({ name: "joined", network: world.networkId });
  await world.cluster.registerNode({
    name: "joined",
    providerId: `hcloud://${server.id}`,
    podCidrs: ["10.244.50.0/24"],
  });
  await eventually(
    () => {
      const { routes = [] } = world.cloud.state.networks.get(world.networkId) ?? {};
      expect(routes.map(({ destination }) => destination)).toContain("10.244.50.0/24");
    },
    { timeoutMs: SLOW_MS },
  );
  expect(performance.now() - started).toBeLessThan(SLOW_MS - 5_000);
  expect(await world.eventsAbout("first")).not.toContainEqual(expect.stringContaining("Failed"));
});
