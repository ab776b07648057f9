/** What a run has really done. */

import type { RunReport, UnitOutcome } from "../../stacks/engine/run.ts";
import { differences } from "../../stacks/units/difference.ts";
import { type Plan, type PlannedUnit, planRun } from "../guard/plan.ts";
import type { Rendered } from "../render/cluster.ts";

/**
 * Outcomes on the proof of a fresh look, whatever the engine says: what was asked for and still differs was not applied,
 * and what does not differ any more was, also when the run broke off behind it. What is asked for only since does not count.
 */
export function proven(outcomes: RunReport["outcomes"], due: Plan, after: Rendered): RunReport["outcomes"] {
  const planned = new Set(planRun(after).map(({ unit }) => unit));
  const check = (step: PlannedUnit): readonly [string, UnitOutcome][] => {
    const outcome = outcomes[step.unit];
    if (!outcome) return [];
    const { changes } = outcome;
    const left = planned.has(step.unit) ? leftOf(step, after) : [];
    if (left.length === 0) return [[step.unit, { status: "applied", changes }]];
    if (outcome.status === "failed") return [[step.unit, outcome]];
    const message = `the change was made, but the cloud does not show it: ${left.map(({ field }) => field).join(", ")}`;
    return [[step.unit, { status: "failed", changes, failure: { code: "not-converged", message, retry: "soon" } }]];
  };
  return Object.fromEntries(due.flatMap(check));
}

function leftOf(step: PlannedUnit, { existing }: Rendered): PlannedUnit["differences"] {
  const state = existing[step.unit];
  if (step.kind === "make") return differences(step.spec, state);
  return state ? step.differences : [];
}
