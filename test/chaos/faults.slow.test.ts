/** A cloud with faults of every kind: the controller must converge. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import type { Fault, FaultEffect } from "../../dev-env/cloud/http/faults.ts";
import { eventually } from "../support/eventually.ts";
import { Random } from "../support/random.ts";
import { startWorld, type World } from "../support/world.ts";
import { Supervised } from "./supervised.ts";
import { addForeign, converged, work } from "./workload.ts";

/** Fixed seed, for repeatable runs; LOTSE_SEED sets another. */
const SEED = Number(process.env.LOTSE_SEED ?? 82_751_574);
const CLOUD = { latencyMs: 2, actionMs: 50, rateLimit: "off" } as const;
/** Behaviour that the real cloud may have. */
const UNKIND = { lingeringDeletes: true, attachLagMs: 300, conflictWhileActionRuns: true } as const;

/** Every kind of fault, each of which affects some requests during the work. */
const EFFECTS: readonly FaultEffect[] = [
  { kind: "latency", ms: 300 },
  { kind: "error", code: "server_error" },
  { kind: "error", code: "unavailable" },
  { kind: "error", code: "rate_limit_exceeded" },
  { kind: "error", code: "conflict" },
  { kind: "error", code: "locked" },
  { kind: "error", code: "timeout", after: true },
  { kind: "error", code: "server_error", after: true },
  { kind: "drop" },
  { kind: "drop", after: true },
  { kind: "slow-action", ms: 1_500 },
  { kind: "failed-action", code: "action_failed" },
  { kind: "stuck-action" },
];

describe("a cloud that fails", () => {
  let world: World | undefined;
  afterEach(async () => world?.[Symbol.asyncDispose]());

  it(`converges after faults of every kind (seed ${SEED})`, async () => {
    const random = new Random(SEED);
    world = await startWorld({ nodes: 3, cloud: { ...CLOUD, ...UNKIND }, isQuick: true });
    const foreign = await addForeign(world);
    const controller = new Supervised(world, ["--run-deadline=6s"]);
    const { faults } = world.cloud;
    const rain = async () => {
      for (const effect of EFFECTS) faults.add(faultOf(effect, random));
      await setTimeout(4_000); // time for the faults
    };
    await work(world, rain);
    faults.clear();
    for (const action of world.cloud.state.actions.values()) {
      if (action.status === "running") world.cloud.finishAction(action.id);
    }
    await converged(world, 120_000).catch((error: unknown) => {
      throw new Error(`not converged (LOTSE_SEED=${SEED}); the controller said:\n${controller.tail()}`, {
        cause: error,
      });
    });
    foreign.check();
    await controller.stop();
  }, 300_000);

  it("converges with an outdated state, and with two controllers at once", async () => {
    world = await startWorld({ nodes: 3, cloud: CLOUD, isQuick: true });
    const foreign = await addForeign(world);
    const dir = await mkdtemp(join(tmpdir(), "lotse-state-"));
    try {
      const flags = [`--state=file://${dir}`];
      const state = join(dir, ".pulumi", "stacks", "lotse", "kubernetes.json");
      const controllers = [world.startController(flags)];
      const here = world;
      let old = "";
      const turns = [
        async () => {
          await eventually(async () => {
            old = await readFile(state, "utf8");
            expect(old).toContain("load-balancer/");
          });
        },
        async () => {
          await controllers[0]?.stop();
          await writeFile(state, old);
          controllers.push(here.startController(flags));
        },
        async () => {
          controllers.push(here.startController());
        },
      ];
      await work(world, async () => turns.shift()?.());
      await converged(world, 90_000);
      foreign.check();
    } finally {
      await world[Symbol.asyncDispose]();
      world = undefined;
      await rm(dir, { recursive: true, force: true });
    }
  }, 300_000);
});

/** Half of the faults affect writes only, so that enough reads succeed. */
function faultOf(effect: FaultEffect, random: Random): Fault {
  const method = random.next() < 0.5 || effect.kind.endsWith("action") ? "POST" : undefined;
  return {
    effect,
    skip: Math.floor(random.between(0, 20)),
    times: Math.ceil(random.between(0, 2)),
    ...(method && { method }),
  };
}
