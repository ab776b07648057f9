/** Many runs in sequence, after which memory and files must not have grown. */
import assert from "node:assert/strict";
import type { V1Service } from "@kubernetes/client-node";
import { SecretState } from "../../controller/kube/state-secrets.ts";
import { SERVICE_UID_LABEL } from "../../stacks/units/names.ts";
import { eventually } from "../support/eventually.ts";
import type { World } from "../support/world.ts";
import type { ControllerStarter } from "./controllers.ts";
import { type Memory, memoryOf } from "./process-memory.ts";
import { INSTANT, measure, type Result } from "./work.ts";

const RUNS = Number(process.env.LOTSE_SOAK_RUNS ?? 500);
const ALGORITHMS = ["least_connections", "round_robin"] as const;

interface Sample {
  readonly memory: Memory;
  readonly stateBytes: number;
}

/**
 * Changes one of five Services repeatedly, each time after the previous change was applied. Reports seconds per run.
 */
export async function soak(start: ControllerStarter): Promise<Result> {
  const samples: Sample[] = [];
  const result = await measure({ cloud: INSTANT, nodes: 5, balancers: 5 }, start, async (world, { pid }) => {
    for (let run = 1; run <= RUNS; run += 1) {
      await changeOne(world, run);
      if (run % Math.ceil(RUNS / 10) === 0)
        samples.push({ memory: memoryOf(pid), stateBytes: await stateBytes(world) });
    }
  });
  const { seconds, calls } = result;
  return { ...result, seconds: seconds / RUNS, calls: Math.round(calls / RUNS), note: noteOf(samples) };
}

async function changeOne(world: World, run: number): Promise<void> {
  const name = `old-${(run % 5) + 1}`;
  const path = `/api/v1/namespaces/default/services/${name}`;
  const { metadata } = await world.observer.get<V1Service>(path);
  const balancer = () =>
    world.cloud.state.loadBalancers.values().find(({ labels }) => labels[SERVICE_UID_LABEL] === metadata?.uid);
  const wanted = ALGORITHMS[balancer()?.algorithm.type === "round_robin" ? 0 : 1];
  const annotations = { "load-balancer.hetzner.cloud/algorithm-type": wanted };
  await world.observer.patch(path, "merge", { metadata: { annotations } });
  await eventually(() => assert.equal(balancer()?.algorithm.type, wanted), { timeoutMs: 60_000, intervalMs: 20 });
}

async function stateBytes(world: World): Promise<number> {
  return (await new SecretState(world.observer, "kube-system", "kubernetes").load())?.length ?? 0;
}

function noteOf(samples: readonly Sample[]): string {
  const text = ({ memory, stateBytes: bytes }: Sample) => `${memory.own} MB / ${memory.tree} MB / ${bytes} B`;
  return `controller / tree at rest / state after each tenth: ${samples.map(text).join(", ")}`;
}
