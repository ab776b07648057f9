/** What is there, what is wanted and what follows from it, at one moment: what every look at a cluster begins with. */
import { type Desired, renderCluster, type Snapshot } from "../cluster/desired.ts";
import { type Guarded, guard } from "../cluster/guard.ts";
import { planRun } from "../cluster/plan.ts";
import type { Config } from "../config.ts";
import { createLogger } from "../log.ts";
import { observe, type Sight } from "./observe.ts";

export interface Survey extends Guarded {
  readonly sight: Sight;
  /** What was planned from: the observed, or what was made of it. */
  readonly snapshot: Snapshot;
  readonly desired: Desired;
}

/** Looks, and plans as the controller would. `imagine` may change what was seen before it is planned from. */
export async function survey(
  config: Config,
  ends: AsyncDisposableStack,
  imagine: (sight: Sight) => Snapshot = ({ snapshot }) => snapshot,
): Promise<Survey> {
  const log = await createLogger({ format: "text", level: "warn" });
  const sight = await observe(config, log, ends);
  const snapshot = imagine(sight);
  const desired = renderCluster(snapshot, sight.options);
  const guarded = guard(planRun(desired), Object.keys(desired.present).length, config.guard);
  return { ...guarded, sight, snapshot, desired };
}
