/** Distinguishes changes made outside the cluster from changes that are yet to be applied, and describes both. */
import type { Difference } from "../../stacks/units/difference.ts";
import type { UnitId, UnitSpec } from "../../stacks/units/spec.ts";
import type { Plan } from "./plan.ts";

/** A unit that matched its spec and no longer does, although the spec has not changed. */
export interface Drift {
  readonly unit: UnitId;
  readonly differences: readonly Difference[];
}

/** Remembers the spec that each unit last matched. Starts empty: after a restart, no difference counts as drift. */
export class DriftWatch {
  readonly #settled = new Map<UnitId, string>();

  /** `specs` are those of all units, including the ones that the plan does not change. Returns the units that drifted. */
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
