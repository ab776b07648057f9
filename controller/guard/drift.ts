/** Tells what somebody else changed in the cloud from what we have not done yet. */
import type { Difference } from "../../stacks/units/difference.ts";
import type { UnitId, UnitSpec } from "../../stacks/units/spec.ts";
import type { Plan } from "./plan.ts";

/** Differences that an Event names; the others are counted. */
const MOST_DESCRIBED = 5;

/** A unit that was as wanted, and is not any more although nothing else is wanted. */
export interface Drift {
  readonly unit: UnitId;
  readonly differences: readonly Difference[];
}

/** Remembers what each unit was when it was last seen as wanted. Starts empty: after a restart nothing is known to be drift. */
export class DriftWatch {
  readonly #settled = new Map<UnitId, string>();

  /** Takes in a plan and the specs of all units it was made from. Returns the units that drifted. */
  observe(specs: ReadonlyMap<UnitId, UnitSpec>, plan: Plan): readonly Drift[] {
    const dirty = new Map(plan.map((step) => [step.unit, step.differences]));
    const drifted: Drift[] = [];
    for (const [unit, spec] of specs) {
      const intent = JSON.stringify(spec);
      const differences = dirty.get(unit);
      if (!differences) this.#settled.set(unit, intent);
      else if (this.#settled.get(unit) === intent) drifted.push({ unit, differences });
      if (differences) this.#settled.delete(unit);
    }
    for (const unit of this.#settled.keys()) if (!specs.has(unit)) this.#settled.delete(unit);
    return drifted;
  }
}

/** What was changed outside, in a sentence for an Event. */
export function describeDrift(differences: readonly Difference[]): string {
  return describe(differences, ({ field, want, have }) => {
    if (have === undefined) return `${field} was removed`;
    return want === undefined ? `${field} was added` : `${field} was changed to ${have}`;
  });
}

/** What is to change, in a sentence for an Event. */
export function describeChanges(differences: readonly Difference[]): string {
  return describe(differences, ({ field, want, have }) => {
    if (have === undefined) return `${field} is added`;
    return want === undefined ? `${field} is removed` : `${field} becomes ${want}`;
  });
}

function describe(differences: readonly Difference[], words: (difference: Difference) => string): string {
  const more = differences.length - MOST_DESCRIBED;
  return differences.slice(0, MOST_DESCRIBED).map(words).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
