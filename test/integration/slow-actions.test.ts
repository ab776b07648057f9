import { afterAll, beforeAll, expect, it } from "vitest";
import type { ControllerProcess } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

/** Far longer than everything else takes, also on a busy machine. */
const SLOW_MS = 40_000;
/** Long enough for a run not to wait while others do. */
const SLOW_ENOUGH_MS = 8_000;

let world: World;
let controller: ControllerProcess;
beforeAll(async () => {
  world = await startWorld({ nodes: 1 });
  controller = world.startController();
});
afterAll(() => world[Symbol.asyncDispose]());

const ingressOf = async (name: string) =>
  (await world.core.readNamespacedService({ namespace: "default", name })).status?.loadBalancer?.ingress ?? [];
const isServed = (name: string) =>
  eventually(async () => expect((await ingressOf(name)).length).toBeGreaterThan(0), { timeoutMs: SLOW_MS });

/** Makes the next action that adds a listener slow. */
const slowListener = (ms = SLOW_MS) =>
  world.cloud.faults.add({
    method: "POST",
    path: "/load_balancers/*/actions/add_service",
    times: 1,
    effect: { kind: "slow-action", ms },
  });

it("no Service and no node waits for the slow action of another Service", { timeout: 180_000 }, async () => {
  await world.createService("first");
  await isServed("first");
  const fault = slowListener();
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
  expect(controller.records("change failed")).toEqual([]);
  expect(controller.records("change under way, its action outlasts the run")).toMatchObject([
    { object: "Service default/first", part: "listener-81" },
  ]);
});

it("a controller that is killed during a slow action is continued by the next one, without a second attempt", async () => {
  await world.createService("third");
  await isServed("third");
  const fault = slowListener();
  await world.observer.patch("/api/v1/namespaces/default/services/third", "strategic-merge", {
    spec: { ports: [{ name: "p81", port: 81, protocol: "TCP" }] },
  });
  await eventually(() => expect(fault.struck).toBe(1));
  controller.signal("SIGKILL");
  await controller.ended;
  const attempts = () => world.cloud.journal.count({ path: "/load_balancers/*/actions/add_service" });
  const before = attempts();
  controller = world.startController();
  await world.createService("fourth");
  await isServed("fourth");
  const uid = (await world.core.readNamespacedService({ namespace: "default", name: "third" })).metadata?.uid;
  const third = world.cloud.state.loadBalancers.values().find(({ labels }) => labels["hcloud-ccm/service-uid"] === uid);
  expect(third?.services.map(({ listen_port }) => listen_port)).toEqual([80, 81]);
  expect(attempts()).toBe(before);
  expect(await world.eventsAbout("third")).not.toContainEqual(expect.stringContaining("Failed"));
}, 120_000);

it("a slow action that fails in the end is reported as a failure, and retried", async () => {
  await world.createService("fifth");
  await isServed("fifth");
  const slow = slowListener(SLOW_ENOUGH_MS);
  const message = "no capacity left";
  const place = { method: "POST", path: "/load_balancers/*/actions/add_service", times: 1 };
  world.cloud.faults.add({ ...place, effect: { kind: "failed-action", code: "unavailable", message } });
  await world.observer.patch("/api/v1/namespaces/default/services/fifth", "strategic-merge", {
    spec: { ports: [{ name: "p81", port: 81, protocol: "TCP" }] },
  });
  await eventually(() => expect(slow.struck).toBe(1));
  await world.createService("sixth"); // for which the run does not wait
  await eventually(
    async () => expect(await world.eventsAbout("fifth")).toContainEqual(expect.stringContaining(message)),
    { timeoutMs: SLOW_MS },
  );
  expect(controller.records("change under way, its action outlasts the run")).toMatchObject([
    { object: "Service default/fifth" },
  ]);
  const uid = (await world.core.readNamespacedService({ namespace: "default", name: "fifth" })).metadata?.uid;
  const fifth = () =>
    world.cloud.state.loadBalancers.values().find(({ labels }) => labels["hcloud-ccm/service-uid"] === uid);
  await eventually(() => expect(fifth()?.services.map(({ listen_port }) => listen_port)).toEqual([80, 81]), {
    timeoutMs: SLOW_MS,
  });
}, 120_000);
