/** Processes killed at random moments: the controller must converge. */
import { readdirSync, readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { afterEach, describe, expect, it } from "vitest";
import { SERVICE_UID_LABEL } from "../../stacks/units/names.ts";
import { eventually } from "../support/eventually.ts";
import { descendantsOf } from "../support/process-tree.ts";
import { Random } from "../support/random.ts";
import { startWorld, type World } from "../support/world.ts";
import { Supervised } from "./supervised.ts";
import { addForeign, converged, work } from "./workload.ts";

/** The number of kills; LOTSE_CHAOS sets another. */
const KILLS = Number(process.env.LOTSE_CHAOS ?? 6);
/** Fixed seed, for repeatable runs; LOTSE_SEED sets another. */
const SEED = Number(process.env.LOTSE_SEED ?? 203_811_227);

/** The creation of a load balancer, in requests of the controller. */
const LATE = { name: "late", load_balancer_type: "lb11", location: "fsn1" };

/** Processes to kill, and how to find them below the controller. */
const VICTIMS = {
  controller: undefined,
  worker: /stacks\/engine\/worker\.ts/,
  "command line": /pulumi (up|preview)/,
  plugin: /pulumi-resource-hcloud/,
} as const;

describe("SIGKILL at random moments of a run that creates, changes and deletes load balancers", () => {
  let world: World | undefined;
  afterEach(async () => world?.[Symbol.asyncDispose]());

  it(`converges, with nothing lost, duplicated or orphaned (${KILLS} kills, seed ${SEED})`, async () => {
    const random = new Random(SEED);
    world = await startWorld({ nodes: 3, cloud: { latencyMs: 5, actionMs: 150, rateLimit: "off" }, isQuick: true });
    const foreign = await addForeign(world);
    const here = world;
    const controller = new Supervised(here);
    const victims: string[] = [];
    const strike = async () => {
      await setTimeout(random.between(100, 2_500)); // the random moment
      const name = random.pick(Object.keys(VICTIMS) as (keyof typeof VICTIMS)[]);
      victims.push(name);
      kill(controller, VICTIMS[name]);
    };
    const strikes = async (count: number) => {
      for (let index = 0; index < count; index++) await strike();
    };
    await work(here, () => strikes(Math.ceil(KILLS / 3)));
    await converged(here, 90_000).catch((error: unknown) => {
      const story = `not converged after killing ${victims.join(", ")} (LOTSE_SEED=${SEED}); the controller said:`;
      throw new Error(`${story}\n${controller.tail()}`, { cause: error });
    });
    foreign.check();
    await controller.stop();
    await eventually(() => expect(enginesIn(here.cluster.dir)).toEqual([]));
  }, 300_000);
});

describe("SIGKILL while the API is creating a load balancer", () => {
  let world: World | undefined;
  afterEach(async () => world?.[Symbol.asyncDispose]());

  it("leaves no orphan, although the Service is deleted before the load balancer is listed", async () => {
    world = await startWorld({ nodes: 1, isQuick: true });
    const { cloud, core } = world;
    const lists = () => cloud.journal.count({ method: "GET", path: "/load_balancers" });
    const creation = cloud.faults.add({ method: "POST", path: "/load_balancers", effect: { kind: "drop" } });
    const killed = world.startController();
    const { metadata } = await world.createService("web");
    await eventually(() => expect(creation.struck).toBeGreaterThan(0));
    killed.signal("SIGKILL");
    await killed.ended;
    creation.remove();
    await core.deleteNamespacedService({ namespace: "default", name: "web" });
    const seen = lists();
    world.startController();
    await eventually(() => expect(lists()).toBeGreaterThan(seen + 1), { timeoutMs: 60_000 });
    // The creation completes, although no client waits for it.
    const labels = { [SERVICE_UID_LABEL]: metadata?.uid };
    await world.changeCloud("POST", "/load_balancers", { ...LATE, labels });
    await eventually(async () => {
      const { items } = await core.listNamespacedService({ namespace: "default" });
      expect(items.map((service) => service.metadata?.name)).not.toContain("web");
    });
    expect(cloud.state.loadBalancers.values()).toEqual([]);
  }, 120_000);
});

function kill(controller: Supervised, pattern: RegExp | undefined): void {
  const victim = pattern && descendantsOf(controller.pid).find(({ command }) => pattern.test(command));
  if (!pattern) controller.kill();
  try {
    if (victim) process.kill(victim.pid, "SIGKILL");
  } catch {
    // It has ended since it was listed.
  }
}

/**
 * Commands of the engines that work below a folder. By their environment: those of a killed controller have another
 * parent.
 */
function enginesIn(folder: string): readonly string[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && readProcess(name, "environ").includes(folder))
    .map((name) => readProcess(name, "cmdline").replaceAll("\0", " "))
    .filter((command) => /worker\.ts|pulumi/.test(command));
}

function readProcess(pid: string, file: "environ" | "cmdline"): string {
  try {
    return readFileSync(`/proc/${pid}/${file}`, "utf8");
  } catch {
    return ""; // has exited meanwhile
  }
}
