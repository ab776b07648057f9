/** The scenarios, each in its own world: the work, the minimum time that the cloud needs for it, and the target. */
import assert from "node:assert/strict";
import { setTimeout } from "node:timers/promises";
import { SecretState } from "../../controller/kube/state-secrets.ts";
import { parseCheckpoint } from "../../stacks/state/checkpoint.ts";
import { unitOfUrn } from "../../stacks/units/names.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";
import { type ControllerStarter, startOurs } from "./controllers.ts";
import { soak } from "./soak.ts";
import {
  API,
  addNodes,
  createServices,
  INSTANT,
  initialised,
  measure,
  type Result,
  routed,
  served,
  settled,
  targeted,
  timed,
} from "./work.ts";

export interface Scenario {
  readonly name: string;
  readonly target: {
    readonly seconds?: number;
    readonly calls?: number;
    readonly treeMb?: number;
    /** Target as a multiple of the time of another scenario. */
    readonly times?: { readonly factor: number; readonly of: string };
  };
  /** Seconds for requests and actions that must be sequential. */
  readonly floorSeconds?: number;
  readonly isLong?: boolean;
  /** False if the scenario concerns a feature that only Lotse has. */
  readonly isComparable: boolean;
  run(start: ControllerStarter): Promise<Result>;
}

const call = 0.06;
const action = 0.8;
const ONE_INSTANT = "instant cloud: one Service";
const FULL = { cloud: API, nodes: 99, balancers: 50, type: "lb31" } as const;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "one Service → ingress in status",
    target: { seconds: 4.3, calls: 26, treeMb: 450 },
    floorSeconds: call + action,
    isComparable: true,
    run: (start) => newServices(start, { cloud: API, nodes: 10 }, 1),
  },
  {
    name: "10 Services at once → all in status",
    target: { seconds: 6, treeMb: 450 },
    floorSeconds: call + action,
    isComparable: true,
    run: (start) => newServices(start, { cloud: API, nodes: 10 }, 10),
  },
  {
    name: "a new node → a target on 15 balancers",
    target: { seconds: 2.5, calls: 45, treeMb: 450 },
    floorSeconds: call + action,
    isComparable: true,
    run: (start) => newNode(start, { cloud: API, nodes: 10, balancers: 15 }),
  },
  {
    name: "routes of 10 new nodes",
    target: { seconds: 2.5, treeMb: 450 },
    floorSeconds: 10 * call + action,
    isComparable: true,
    run: (start) => newRoutes(start, 10),
  },
  {
    name: "at rest for a minute, 11 nodes, 15 balancers",
    target: { calls: 6, treeMb: 450 },
    isComparable: true,
    run: (start) => measure({ cloud: INSTANT, nodes: 11, balancers: 15 }, start, () => setTimeout(60_000)),
  },
  {
    name: ONE_INSTANT,
    target: { seconds: 0.9, treeMb: 450 },
    isComparable: true,
    run: (start) => newServices(start, { cloud: INSTANT, nodes: 10 }, 1),
  },
  {
    name: "with 100 balancers × 10 nodes there: one more",
    target: { times: { factor: 1.5, of: ONE_INSTANT }, treeMb: 450 },
    isLong: true,
    isComparable: false,
    run: (start) => newServices(start, { cloud: INSTANT, nodes: 10, balancers: 100 }, 1),
  },
  {
    name: "50 balancers × 100 nodes: a new node everywhere",
    target: { seconds: 10, calls: 130, treeMb: 1_200 },
    floorSeconds: call + action,
    isLong: true,
    isComparable: false,
    run: (start) => newNode(start, FULL),
  },
  {
    name: "the same, state lost: all adopted",
    target: { seconds: 120, calls: 500, treeMb: 1_200 },
    isLong: true,
    isComparable: false,
    run: () => adoption(),
  },
  {
    name: "routes of 99 new nodes, as they register",
    target: {},
    floorSeconds: 99 * call + action,
    isLong: true,
    isComparable: false,
    run: (start) => newRoutes(start, 99),
  },
  {
    name: "99 nodes join: the last is initialised, lists of servers",
    target: { seconds: 3, calls: 10 },
    isLong: true,
    isComparable: false,
    run: joining,
  },
  { name: "500 runs: memory and state stay flat", target: {}, isLong: true, isComparable: false, run: soak },
];

function newServices(start: ControllerStarter, setting: Parameters<typeof measure>[0], count: number): Promise<Result> {
  return measure(setting, start, async (world) => {
    await createServices(world, "new", count);
    await served(world, (setting.balancers ?? 0) + count);
  });
}

function newNode(start: ControllerStarter, setting: Parameters<typeof measure>[0]): Promise<Result> {
  return measure(setting, start, async (world) => {
    await addNodes(world, setting.nodes, 1);
    await targeted(world, setting.nodes + 1);
  });
}

function newRoutes(start: ControllerStarter, count: number): Promise<Result> {
  return measure({ cloud: API, nodes: 1 }, start, async (world) => {
    await addNodes(world, 1, count);
    await routed(world, count + 1);
  });
}

/** Measured from the registration of the last node, because registering takes longer than the work itself. */
async function joining(start: ControllerStarter): Promise<Result> {
  let registered = 0;
  let lists = 0;
  const whole = await measure({ cloud: INSTANT, nodes: 1 }, start, async (world) => {
    const started = performance.now();
    await addNodes(world, 1, 99);
    registered = (performance.now() - started) / 1000;
    await initialised(world, 100);
    lists = world.cloud.journal.count({ method: "GET", path: "**/servers" });
  });
  return { ...whole, seconds: whole.seconds - registered, calls: lists };
}

/** A second controller without state finds everything in place. It must record every unit and change nothing. */
async function adoption(): Promise<Result> {
  await using world = await startWorld({ nodes: FULL.nodes, cloud: FULL.cloud });
  await createServices(world, "old", FULL.balancers, FULL.type);
  const first = startOurs(world);
  await settled(world, FULL.balancers, FULL.nodes);
  await first.stop();
  await world.core.deleteCollectionNamespacedSecret({ namespace: "kube-system" });
  world.cloud.journal.clear();
  const second = startOurs(world);
  const result = await timed(world, second, () => knowsAll(world));
  assert.deepEqual(world.cloud.journal.writes, [], "nothing was changed in the cloud");
  return result;
}

async function knowsAll(world: World): Promise<void> {
  await eventually(
    async () => {
      const state = parseCheckpoint(await new SecretState(world.observer, "kube-system", "kubernetes").load());
      const units = new Set(state.map(({ urn }) => unitOfUrn(urn)).filter((unit) => unit !== undefined));
      assert.equal(units.size, FULL.balancers + FULL.nodes);
    },
    { timeoutMs: 300_000, intervalMs: 500 },
  );
}
