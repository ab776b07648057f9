/** Tells what somebody else changed in the cloud from what we have not done yet. */
import type { Difference } from "../../stacks/units/difference.ts";
import type { UnitId, UnitSpec } from "../../stacks/units/spec.ts";
import type { Plan } from "./plan.ts";

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

/** What was changed outside the cluster, for an Event: `type was changed to lb21, target server-3 was removed`. */
export function describeDrift(differences: readonly Difference[]): string {
  return describe(differences, (field, { want, have }) => {
    if (have === undefined) return `${field} was removed`;
    return want === undefined ? `${field} was added` : `${field} was changed to ${have}`;
  });
}

/** What is about to change, for an Event: `set type to lb21, add target server-3`. */
export function describeChanges(differences: readonly Difference[]): string {
  return describe(differences, (field, { want, have }) => {
    if (have === undefined) return `add ${field}`;
    return want === undefined ? `remove ${field}` : `set ${field} to ${want}`;
  });
}

function describe(differences: readonly Difference[], words: (field: string, of: Difference) => string): string {
  const described = differences.map((difference) => words(readable(difference.field), difference));
  return nameFirst(described, 5);
}

/** `listener-443 healthCheck port` → `listener 443 health check port`. */
function readable(field: string): string {
  if (!field.startsWith("listener-")) return field;
  return field.replace("-", " ").replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
}

/** Names the first few and counts the rest: `a, b and 3 more`. */
export function nameFirst(names: readonly string[], most: number): string {
  const more = names.length - most;
  return names.slice(0, most).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
