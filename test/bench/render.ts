/** Measures rendering and planning, in milliseconds of CPU: a large cluster, and objects made to take long. */
import { assessInSteps } from "../../controller/guard/plan.ts";
import { renderCluster, type Snapshot } from "../../controller/render/cluster.ts";
import { inSlices } from "../../controller/work/steps.ts";
import { aRenderOptions } from "../support/builders.ts";
import { manyAnnotations, manyPorts, manySecrets, manyServices } from "../support/crowded.ts";
import { longestStepMs } from "../support/event-loop.ts";
import { localResult, type Result } from "./work.ts";

const SNAPSHOTS: readonly (readonly [name: string, make: () => Snapshot])[] = [
  ["1,000 Services and 1,000 nodes", () => manyServices(1_000, 1_000)],
  ["256 kB of annotations", manyAnnotations],
  ["10,000 ports", manyPorts],
  ["25 TLS Secrets on 30 ports", () => manySecrets(60_000)],
];

export interface RenderFigures {
  readonly name: string;
  /** The longest step of the first time. */
  readonly step: number;
  /** A later time without pauses, rendering alone. */
  readonly whole: number;
}

export async function measureRender(): Promise<readonly RenderFigures[]> {
  const figures: RenderFigures[] = [];
  for (const [name, make] of SNAPSHOTS) figures.push({ name, ...(await measureSnapshot(make())) });
  return figures;
}

async function measureSnapshot(snapshot: Snapshot): Promise<Omit<RenderFigures, "name">> {
  const options = aRenderOptions();
  const step = await longestStepMs(() => inSlices(assessInSteps(snapshot, options)));
  const whole = await longestStepMs(async () => renderCluster(snapshot, options));
  return { step, whole };
}

/** The time of a later render of a large cluster. The note has the longest step of the first one. */
export async function largeRender(): Promise<Result> {
  const { step, whole } = await measureSnapshot(manyServices(1_000, 1_000));
  return localResult(whole, `longest step ${step.toFixed(0)} ms`);
}
