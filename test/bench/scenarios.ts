/** The scenarios, each in its own world: the work, the minimum time that the cloud needs for it, and the target. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { SecretState } from "../../controller/kube/state-secrets.ts";
import { BUILT_MAIN } from "../support/controller-process.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";
import { type ControllerStarter, startOurs } from "./controllers.ts";
import { largeRender } from "./render.ts";
import { SLOW_ACTIONS } from "./slow-actions.ts";
import { soak } from "./soak.ts";
import {
  API,
  addNodes,
  createServices,
  INSTANT,
  initialised,
  localResult,
  measure,
  type Result,
  routed,
  type Scenario,
  type Setting,
  served,
  settled,
  targeted,
  timed,
} from "./work.ts";

const execute = promisify(execFile);
const call = 0.06;
const action = 0.8;
const ONE_INSTANT = "instant cloud: one Service";
const FULL = { cloud: API, nodes: 99, balancers: 50, type: "lb31" } as const;

export const SCENARIOS: readonly Scenario[] = [
  {
    name: "one Service → ingress in status",
    target: { seconds: 1.5, calls: 5, treeMb: 260 },
    usual: { calls: 5, memory: { own: 80, anonymous: 30, tree: 300 } },
    floorSeconds: call + action,
    isComparable: true,
    run: (start) => newServices(start, { cloud: API, nodes: 10 }, 1),
  },
  {
    name: "the same, first change after a long rest",
    target: { seconds: 2, calls: 5, treeMb: 260 },
    floorSeconds: call + action,
    isComparable: true,
    run: (start) => newServices(start, { cloud: API, nodes: 10, isAsleep: true }, 1),
  },
  {
    name: "10 Services at once → all in status",
    target: { seconds: 2.5, calls: 20, treeMb: 340 },
    usual: { calls: 14, memory: { own: 82, anonymous: 31, tree: 345 } },
    floorSeconds: call + action,
    isComparable: true,
    run: (start) => newServices(start, { cloud: API, nodes: 10 }, 10),
  },
  {
    name: "a new node → a target on 15 load balancers",
    target: { seconds: 0.9, calls: 18, treeMb: 340 },
    usual: { calls: 20, memory: { own: 86, anonymous: 34, tree: 315 } },
    floorSeconds: call + action,
    isComparable: true,
    run: (start) => newNode(start, { cloud: API, nodes: 10, balancers: 15 }),
  },
  {
    name: "10 nodes join: the last is initialised",
    target: { seconds: 0.2, treeMb: 340 },
    isComparable: true,
    run: (start) => joining(start, API, (world) => initialised(world, 11)),
  },
  {
    name: "10 nodes join: all routes exist",
    target: { seconds: 0.7, treeMb: 340 },
    floorSeconds: 10 * call + action,
    isComparable: true,
    run: (start) => joining(start, API, (world) => routed(world, 11)),
  },
  {
    name: "15 Services deleted → no load balancers",
    target: { seconds: 2, treeMb: 340 },
    floorSeconds: call + action,
    isComparable: true,
    run: deletion,
  },
  {
    name: "at rest for a minute, 11 nodes, 15 load balancers",
    target: { calls: 6, treeMb: 80, cpuMs: 200, apiServerRequests: 30 },
    usual: { calls: 6, memory: { own: 89, anonymous: 33, tree: 89 } },
    isComparable: true,
    run: (start) => {
      const setting = { cloud: INSTANT, nodes: 11, balancers: 15, isAsleep: true, isAudited: true };
      return measure(setting, start, () => setTimeout(60_000));
    },
  },
  {
    name: ONE_INSTANT,
    target: { seconds: 0.4, treeMb: 260 },
    isComparable: true,
    run: (start) => newServices(start, { cloud: INSTANT, nodes: 10 }, 1),
  },
  {
    name: "instant cloud: 30 Services at once",
    target: { seconds: 3 },
    isComparable: true,
    run: (start) => newServices(start, { cloud: INSTANT, nodes: 10 }, 30),
  },
  ...SLOW_ACTIONS,
  {
    name: "start until the controller works",
    target: { seconds: 1 },
    isComparable: false,
    run: () => startUp(),
  },
  { name: "`lotse --help`", target: { seconds: 0.15 }, isComparable: false, run: help },
  {
    name: "1,000 nodes × 1,000 Services: one render, without I/O",
    target: { seconds: 0.15 },
    isComparable: false,
    run: largeRender,
  },
  {
    name: "instant cloud with 100 nodes × 10 load balancers: one more Service",
    target: { times: { factor: 1.2, of: ONE_INSTANT } },
    isComparable: false,
    run: (start) => newServices(start, { cloud: INSTANT, nodes: 100, balancers: 10, type: "lb31" }, 1),
  },
  {
    name: "instant cloud with 100 load balancers × 10 nodes: one more Service",
    target: { times: { factor: 1.2, of: ONE_INSTANT }, treeMb: 340 },
    isLong: true,
    isComparable: false,
    run: (start) => newServices(start, { cloud: INSTANT, nodes: 10, balancers: 100 }, 1),
  },
  {
    name: "50 load balancers × 100 nodes: a new node everywhere",
    target: { seconds: 10, calls: 130, treeMb: 1_200 },
    floorSeconds: call + action,
    isLong: true,
    isComparable: false,
    run: (start) => newNode(start, FULL),
  },
  {
    name: "50 load balancers × 100 nodes: all created at once",
    target: { treeMb: 600 },
    isLong: true,
    isComparable: false,
    run: (start) => newServices(start, { cloud: INSTANT, nodes: 100, type: "lb31" }, 50),
  },
  {
    name: "the same, state lost: all adopted",
    target: { seconds: 120, calls: 500, treeMb: 1_200 },
    isLong: true,
    isComparable: false,
    run: () => adoption(),
  },
  {
    name: "99 nodes join: all routes exist",
    target: {},
    floorSeconds: 99 * call + action,
    isLong: true,
    isComparable: false,
    run: (start) => joining(start, API, (world) => routed(world, 100), 99),
  },
  {
    name: "99 nodes join: the last is initialised",
    target: { seconds: 3 },
    isLong: true,
    isComparable: false,
    run: (start) => joining(start, INSTANT, (world) => initialised(world, 100), 99),
  },
  { name: "500 runs: memory and state stay flat", target: {}, isLong: true, isComparable: false, run: soak },
];

function newServices(start: ControllerStarter, setting: Setting, count: number): Promise<Result> {
  return measure(setting, start, async (world) => {
    await createServices(world, "new", count, setting.type);
    await served(world, (setting.balancers ?? 0) + count);
  });
}

function newNode(start: ControllerStarter, setting: Setting): Promise<Result> {
  return measure(setting, start, async (world) => {
    await addNodes(world, setting.nodes, 1);
    await targeted(world, setting.nodes + 1);
  });
}

/** Measured from the registration of the last node, because registering takes longer than the work itself. */
async function joining(
  start: ControllerStarter,
  cloud: Setting["cloud"],
  done: (world: World) => Promise<void>,
  count = 10,
): Promise<Result> {
  let registered = 0;
  const whole = await measure({ cloud, nodes: 1 }, start, async (world) => {
    const started = performance.now();
    await addNodes(world, 1, count);
    registered = (performance.now() - started) / 1000;
    await done(world);
  });
  return { ...whole, seconds: whole.seconds - registered };
}

function deletion(start: ControllerStarter): Promise<Result> {
  return measure({ cloud: API, nodes: 10, balancers: 15 }, start, async (world) => {
    await world.core.deleteCollectionNamespacedService({ namespace: "default", labelSelector: "!component" });
    await eventually(() => assert.equal(world.cloud.state.loadBalancers.size, 0), {
      timeoutMs: 60_000,
      intervalMs: 20,
    });
  });
}

/** From the start of the process to the line in its log. */
async function startUp(): Promise<Result> {
  await using world = await startWorld({ nodes: 10, cloud: API, isBuilt: true });
  const controller = world.startController(["--resync=60s"]);
  // Awaited here: the world ends when this function returns.
  return await timed(world, controller, () =>
    eventually(() => assert.equal(controller.records("controller running").length, 1), { intervalMs: 10 }),
  );
}

async function help(): Promise<Result> {
  const started = performance.now();
  await execute(process.execPath, [BUILT_MAIN, "--help"]);
  return localResult(performance.now() - started);
}

/** A second controller without state finds everything in place. It must record every unit and change nothing. */
async function adoption(): Promise<Result> {
  await using world = await startWorld({ nodes: FULL.nodes, cloud: FULL.cloud, isBuilt: true });
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
      const state = (await new SecretState(world.observer, "kube-system", "kubernetes").load()) ?? "";
      const units = new Set(state.match(/(?<="urn":"[^"#]+::)(load-balancer|route)\/[^"#]+(?=")/g));
      assert.equal(units.size, FULL.balancers + FULL.nodes);
    },
    { timeoutMs: 300_000, intervalMs: 500 },
  );
}
