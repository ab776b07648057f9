/** What is measured, each on a world of its own: the work, how much of it the cloud alone needs, and what we aim at. */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { V1NodeList, V1ServiceList } from "@kubernetes/client-node";
import { paths } from "../../controller/kube/client.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";
import { memoryOf } from "./process-memory.ts";

export interface Result {
  readonly seconds: number;
  readonly calls: number;
  /** Resident megabytes at the end: controller alone, and with engine and plugin. */
  readonly memory: { readonly own: number; readonly tree: number };
}

export interface Scenario {
  readonly name: string;
  readonly target: { readonly seconds?: number; readonly calls?: number };
  /** Seconds that requests and actions take one after the other where they must. */
  readonly floorSeconds?: number;
  readonly isLong?: boolean;
  run(start: ControllerStarter): Promise<Result>;
}

/** Starts the controller under test in a world and returns its process id. */
export type ControllerStarter = (world: World) => number;

const API = { latencyMs: 60, actionMs: 800, rateLimit: "off", maxNetworkMembers: 1_000 } as const;
const INSTANT = { rateLimit: "off", maxNetworkMembers: 1_000 } as const;
const call = 0.06;
const action = 0.8;
const patience = { timeoutMs: 300_000 };

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "one Service",
    target: { seconds: 4.3, calls: 26 },
    floorSeconds: 2 * (call + action) + 10 * call + action,
    run: (start) => services({ cloud: API, nodes: 10, count: 1 }, start),
  },
  {
    name: "10 Services at once",
    target: { seconds: 6 },
    floorSeconds: 2 * (call + action) + 10 * call + action,
    run: (start) => services({ cloud: API, nodes: 10, count: 10 }, start),
  },
  {
    name: "a new node on 15 balancers",
    target: { seconds: 2.5, calls: 45 },
    floorSeconds: call + action,
    run: (start) => newNode({ cloud: API, nodes: 10, balancers: 15 }, start),
  },
  {
    name: "routes of 10 new nodes",
    target: { seconds: 2.5 },
    floorSeconds: 10 * call + action,
    run: (start) => routes({ cloud: API, nodes: 10 }, start),
  },
  {
    name: "routes of 99 new nodes, as they register",
    target: {},
    floorSeconds: 99 * call + action,
    isLong: true,
    run: (start) => routes({ cloud: API, nodes: 99 }, start),
  },
  {
    name: "99 nodes join: the last is initialised, lists of servers",
    target: { seconds: 3, calls: 10 },
    isLong: true,
    run: (start) => joining({ cloud: INSTANT, nodes: 99 }, start),
  },
  { name: "a minute at rest, 11 nodes, 15 balancers", target: { calls: 6 }, isLong: true, run: (start) => rest(start) },
  {
    name: "one Service, instant cloud",
    target: { seconds: 0.9 },
    run: (start) => services({ cloud: INSTANT, nodes: 10, count: 1 }, start),
  },
  {
    name: "one more beside 100 balancers, instant cloud",
    target: { seconds: 1.35 },
    isLong: true,
    run: (start) => services({ cloud: INSTANT, nodes: 10, count: 1, before: 100 }, start),
  },
  {
    name: "50 balancers x 100 nodes: a new node everywhere",
    target: { seconds: 10, calls: 130 },
    isLong: true,
    run: (start) => newNode({ cloud: API, nodes: 99, balancers: 50, type: "lb31" }, start),
  },
];

interface Setting {
  readonly cloud: typeof API | typeof INSTANT;
  readonly nodes: number;
  readonly type?: string;
}

async function services(
  { cloud, nodes, count, before = 0, type }: Setting & { count: number; before?: number },
  start: ControllerStarter,
) {
  await using world = await startWorld({ nodes, cloud });
  await create(world, "old", before, type);
  const pid = start(world);
  await settled(world, before, nodes);
  return await measure(world, pid, async () => {
    await create(world, "new", count, type);
    await eventually(async () => assert.equal(await served(world), before + count), { ...patience, intervalMs: 20 });
  });
}

async function newNode({ cloud, nodes, balancers, type }: Setting & { balancers: number }, start: ControllerStarter) {
  await using world = await startWorld({ nodes, cloud });
  await create(world, "old", balancers, type);
  const pid = start(world);
  await settled(world, balancers, nodes);
  return await measure(world, pid, async () => {
    await world.addNode(nodes + 1);
    await eventually(() => {
      for (const { targets } of world.cloud.state.loadBalancers.values()) assert.equal(targets.length, nodes + 1);
    }, patience);
  });
}

async function routes({ cloud, nodes }: Setting, start: ControllerStarter) {
  await using world = await startWorld({ nodes: 1, cloud });
  const pid = start(world);
  await settled(world, 0, 1);
  return await measure(world, pid, async () => {
    await Promise.all(Array.from({ length: nodes }, (_, index) => world.addNode(index + 2)));
    await eventually(async () => {
      const { items } = await world.observer.get<V1NodeList>(paths.nodes);
      const available = items.filter(({ status }) =>
        status?.conditions?.some(({ reason }) => reason === "RouteCreated"),
      );
      assert.equal(available.length, nodes + 1);
    }, patience);
  });
}

/** From the last node's registration; registering them keeps the machine busy for longer than we do. */
async function joining({ cloud, nodes }: Setting, start: ControllerStarter): Promise<Result> {
  await using world = await startWorld({ nodes: 1, cloud });
  const pid = start(world);
  await settled(world, 0, 1);
  world.cloud.journal.clear();
  await Promise.all(Array.from({ length: nodes }, (_, index) => world.addNode(index + 2)));
  const started = performance.now();
  await eventually(async () => {
    const { items } = await world.observer.get<V1NodeList>(paths.nodes);
    assert.equal(items.filter(({ spec }) => spec?.providerID && !spec.taints?.length).length, nodes + 1);
  }, patience);
  const seconds = (performance.now() - started) / 1000;
  return { seconds, calls: world.cloud.journal.count({ method: "GET", path: "**/servers" }), memory: memoryOf(pid) };
}

async function rest(start: ControllerStarter) {
  await using world = await startWorld({ nodes: 11, cloud: INSTANT });
  await create(world, "old", 15);
  const pid = start(world);
  await settled(world, 15, 11);
  return await measure(world, pid, () => setTimeout(60_000));
}

async function measure(world: World, pid: number, work: () => Promise<void>): Promise<Result> {
  world.cloud.journal.clear();
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1000;
  return { seconds, calls: world.cloud.journal.entries.length, memory: memoryOf(pid) };
}

async function create(world: World, prefix: string, count: number, type?: string): Promise<void> {
  const annotations = { "use-private-ip": "true", ...(type && { type }) };
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);
  await Promise.all(names.map((name) => world.createService(name, annotations, [80, 443])));
}

async function served(world: World): Promise<number> {
  const { items } = await world.observer.get<V1ServiceList>(paths.services);
  return items.filter(({ status }) => status?.loadBalancer?.ingress?.length).length;
}

/** Waits until everything is made and the journal has been quiet for a moment. */
async function settled(world: World, balancers: number, nodes: number): Promise<void> {
  await eventually(async () => assert.equal(await served(world), balancers), patience);
  await eventually(() => assert.equal(world.cloud.state.networks.get(world.networkId)?.routes.length, nodes), patience);
  let seen = -1;
  while (seen !== world.cloud.journal.entries.length) {
    seen = world.cloud.journal.entries.length;
    await setTimeout(1_000);
  }
}
