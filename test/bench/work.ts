/** Building blocks of scenarios: worlds, work, and measurement. */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import type { V1NodeList, V1ServiceList } from "@kubernetes/client-node";
import { paths } from "../../controller/kube/paths.ts";
import { requestsOf } from "../support/audit-log.ts";
import { eventually } from "../support/eventually.ts";
import { cpuMsOf, descendantsOf } from "../support/process-tree.ts";
import { startWorld, type World } from "../support/world.ts";
import { type ControllerStarter, type Started, startOurs } from "./controllers.ts";
import { type Memory, watchMemory } from "./process-memory.ts";

export interface Result {
  readonly seconds: number;
  readonly calls: number;
  /** Peak resident megabytes of the controller alone, and with engine and plugin. */
  readonly memory: Memory;
  /** CPU time of the controller and of its children that have ended. */
  readonly cpuMs: number;
  /** Requests of the controller to the API server, if the setting is audited. */
  readonly apiServerRequests?: number;
  /** A note for the table. */
  readonly note?: string;
}

/** The result of work without requests, in a process that is not measured. */
export function localResult(ms: number, note?: string): Result {
  const memory = { own: 0, anonymous: 0, tree: 0 };
  return { seconds: ms / 1000, calls: 0, memory, cpuMs: 0, ...(note !== undefined && { note }) };
}

/** Some work to measure. */
export interface Scenario {
  readonly name: string;
  readonly target: {
    readonly seconds?: number;
    readonly calls?: number;
    readonly treeMb?: number;
    readonly cpuMs?: number;
    readonly apiServerRequests?: number;
    /** Target as a multiple of the time of another scenario. */
    readonly times?: { readonly factor: number; readonly of: string };
  };
  /** What it takes now. A test fails when it takes 15 % more; lower these figures after an improvement. */
  readonly usual?: { readonly calls: number; readonly memory: Memory };
  /** Seconds for requests and actions that must be sequential. */
  readonly floorSeconds?: number;
  readonly isLong?: boolean;
  /** False if the scenario concerns a feature that only Lotse has. */
  readonly isComparable: boolean;
  run(start: ControllerStarter): Promise<Result>;
}

/** The cloud of the published figures, and one without delays. */
export const API = { latencyMs: 60, actionMs: 800, rateLimit: "off", maxNetworkMembers: 1_000 } as const;
export const INSTANT = { rateLimit: "off", maxNetworkMembers: 1_000 } as const;
const patience = { timeoutMs: 1_200_000, intervalMs: 20 };

/** The world before the work begins. */
export interface Setting {
  readonly cloud: typeof API | typeof INSTANT;
  readonly nodes: number;
  readonly balancers?: number;
  /** Load balancer type; the smallest allows 25 targets. */
  readonly type?: string;
  /** Whether to wait until nothing of the engine runs, as after a long rest. */
  readonly isAsleep?: boolean;
  /** Whether to count requests to the API server. */
  readonly isAudited?: boolean;
  /** What happens before the work, not measured. */
  readonly prepare?: (world: World) => Promise<void>;
}

/** Work in a world whose controller is idle. */
export type Work = (world: World, controller: Started) => Promise<void>;

/** Sets up a world, waits until the controller is idle, and measures the work. */
export async function measure(setting: Setting, start: ControllerStarter, work: Work): Promise<Result> {
  const { cloud, nodes, balancers = 0, type, isAsleep = false, isAudited = false, prepare } = setting;
  // HCCM would need minutes to set up what it is measured on. Lotse learns how long actions take, and needs delays from the start.
  const isDelayedLater = start !== startOurs && cloud === API;
  await using world = await startWorld({ nodes, cloud: isDelayedLater ? INSTANT : cloud, isAudited, isBuilt: true });
  await createServices(world, "old", balancers, type);
  const controller = start(world);
  try {
    await settled(world, balancers, nodes);
    if (isAsleep) await eventually(() => assert.deepEqual(descendantsOf(controller.pid), []), patience);
    if (isDelayedLater) delay(world);
    await prepare?.(world);
    // HCCM has an administrator's rights, as the benchmark itself: its requests cannot be told apart.
    const isCounted = isAudited && start === startOurs;
    const before = isCounted ? requestsOf(world.cluster).length : 0;
    const result = await timed(world, controller, () => work(world, controller));
    return isCounted ? { ...result, apiServerRequests: requestsOf(world.cluster).length - before } : result;
  } finally {
    await controller.stop();
  }
}

function delay({ cloud }: World): void {
  cloud.faults.add({ effect: { kind: "latency", ms: API.latencyMs } });
  cloud.faults.add({ effect: { kind: "slow-action", ms: API.actionMs } });
}

/** Measures time, calls and memory of some work. */
export async function timed(world: World, { pid }: Started, work: () => Promise<void>): Promise<Result> {
  world.cloud.journal.clear();
  const peak = watchMemory(pid);
  const cpu = cpuMsOf(pid);
  const started = performance.now();
  await work();
  const seconds = (performance.now() - started) / 1000;
  return { seconds, calls: world.cloud.journal.entries.length, memory: peak(), cpuMs: cpuMsOf(pid) - cpu };
}

export async function createServices(world: World, prefix: string, count: number, type?: string): Promise<void> {
  const annotations = { "use-private-ip": "true", ...(type && { type }) };
  const names = Array.from({ length: count }, (_, index) => `${prefix}-${index + 1}`);
  await Promise.all(names.map((name) => world.createService(name, annotations, [80, 443])));
}

/** Waits until this many Services have an address. */
export async function served(world: World, count: number): Promise<void> {
  await eventually(async () => {
    const { items } = await world.observer.get<V1ServiceList>(paths.services);
    assert.equal(items.filter(({ status }) => status?.loadBalancer?.ingress?.length).length, count);
  }, patience);
}

/** Waits until every load balancer has this many targets. */
export async function targeted(world: World, count: number): Promise<void> {
  await eventually(() => {
    for (const { targets } of world.cloud.state.loadBalancers.values()) assert.equal(targets.length, count);
  }, patience);
}

/** Waits until this many nodes report that their route exists. */
export async function routed(world: World, count: number): Promise<void> {
  await nodesThat(
    world,
    ({ status }) => status?.conditions?.some(({ reason }) => reason === "RouteCreated") ?? false,
    count,
  );
}

/** Waits until this many nodes are initialised. */
export async function initialised(world: World, count: number): Promise<void> {
  await nodesThat(world, ({ spec }) => spec?.providerID !== undefined && !spec.taints?.length, count);
}

async function nodesThat(world: World, is: (node: V1NodeList["items"][number]) => boolean, count: number) {
  await eventually(async () => {
    const { items } = await world.observer.get<V1NodeList>(paths.nodes);
    assert.equal(items.filter(is).length, count);
  }, patience);
}

/** Adds nodes. */
export async function addNodes(world: World, there: number, count: number): Promise<void> {
  await Promise.all(Array.from({ length: count }, (_, index) => world.addNode(there + index + 1)));
}

/** Waits until everything exists and no requests are made for a moment. */
export async function settled(world: World, balancers: number, nodes: number): Promise<void> {
  await served(world, balancers);
  await targeted(world, nodes);
  await eventually(() => assert.equal(world.cloud.state.networks.get(world.networkId)?.routes.length, nodes), patience);
  let seen = -1;
  while (seen !== world.cloud.journal.entries.length) {
    seen = world.cloud.journal.entries.length;
    await setTimeout(1_500);
  }
}
