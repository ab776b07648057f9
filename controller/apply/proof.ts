/** What a run really did, according to the cloud's lists. */
import type { RunReport, UnitOutcome } from "../../stacks/engine/run.ts";
import { differences } from "../../stacks/units/difference.ts";
import type { Plan, PlannedUnit, Situation } from "../guard/plan.ts";
import type { Rendered } from "../render/cluster.ts";

type Outcomes = RunReport["outcomes"];

/**
 * Corrects the engine's outcomes: a unit that still differs was not applied; one that no longer differs was, even if the
 * run failed later. Changes that were requested in the meantime are ignored.
 */
export function proven(outcomes: Outcomes, due: Plan, { rendered, plan }: Situation): Outcomes {
  const planned = new Set(plan.map(({ unit }) => unit));
  const check = (step: PlannedUnit): readonly [string, UnitOutcome][] => {
    const outcome = outcomes[step.unit];
    if (!outcome) return [];
    const { changes } = outcome;
    const left = planned.has(step.unit) ? leftOf(step, rendered) : [];
    if (left.length === 0) return [[step.unit, { status: "applied", changes }]];
    if (outcome.status === "failed") return [[step.unit, outcome]];
    const message = `the run succeeded, but the Hetzner API does not show the change: ${left.map(({ field }) => field).join(", ")}`;
    return [[step.unit, { status: "failed", changes, failure: { code: "not-converged", message, retry: "soon" } }]];
  };
  return Object.fromEntries(due.flatMap(check));
}

function leftOf(step: PlannedUnit, { existing }: Rendered): PlannedUnit["differences"] {
  const state = existing[step.unit];
  if (step.kind === "make") return differences(step.spec, state);
  return state ? step.differences : [];
}
