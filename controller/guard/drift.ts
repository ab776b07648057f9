/** Tells drift from changes that are yet to be applied. */
import { isDeepStrictEqual } from "node:util";
import { type Difference, describeField } from "../../stacks/units/difference.ts";
import type { UnitId, UnitSpec, UnitState } from "../../stacks/units/spec.ts";
import { nameFirst } from "./guard.ts";
import { type Plan, type PlannedUnit, type Situation, wantedSpecs } from "./plan.ts";

/** A unit that matched its spec and no longer does, although the spec has not changed. */
export interface Drift {
  readonly unit: UnitId;
  readonly differences: readonly Difference[];
  /** What existed and is gone; absent when it still exists. */
  readonly lost?: UnitState;
  /** Number of times in the last hour, this time included. */
  readonly times: number;
  /** When it was noticed, in milliseconds of a monotonic clock. */
  readonly at: number;
}

interface Settled {
  readonly spec: UnitSpec;
  readonly state: UnitState | undefined;
}

const HOUR_MS = 3_600_000;

/** Remembers what each unit last matched. Starts empty: after a restart, no difference counts as drift. */
export class DriftWatch {
  readonly #now: () => number;
  readonly #settled = new Map<UnitId, Settled>();
  readonly #drifts = new Map<UnitId, readonly number[]>();

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * Compares units with what they matched, and returns those that drifted. Others match, unless they are under way or not in
   * `passed`, because the guard holds them back.
   */
  observe({ rendered, plan, underWay }: Situation, passed = plan): readonly Drift[] {
    const specs = wantedSpecs(rendered);
    const passing = new Set(passed.map(({ unit }) => unit));
    const dirty = new Map(plan.map((step) => [step.unit, step.differences]));
    const drifted = [...specs].flatMap(([unit, spec]): Drift[] => {
      const found = dirty.get(unit);
      if (underWay?.has(unit) || (found && !passing.has(unit))) return [];
      const before = this.#settled.get(unit);
      this.#settled.delete(unit);
      const state = rendered.existing[unit];
      if (!found) this.#settled.set(unit, { spec, state });
      if (!found || !before || !isDeepStrictEqual(before.spec, spec)) return [];
      const lost = state === undefined && before.state;
      return [{ unit, differences: found, ...(lost && { lost }), ...this.#count(unit) }];
    });
    for (const unit of [...this.#settled.keys(), ...this.#drifts.keys()]) if (!specs.has(unit)) this.#forget(unit);
    return drifted;
  }

  /** Whether a step would repair what was changed outside the cluster. */
  isDrift(step: PlannedUnit): boolean {
    return step.kind === "make" && isDeepStrictEqual(this.#settled.get(step.unit)?.spec, step.spec);
  }

  /** Remembers that a run has brought units to their specs, so that the next change by hand is drift, even at once. */
  settle({ rendered, plan, underWay = new Map() }: Situation, due: Plan): void {
    const left = new Set([...plan.map(({ unit }) => unit), ...underWay.keys()]);
    for (const step of due)
      if (step.kind === "make" && !left.has(step.unit))
        this.#settled.set(step.unit, { spec: step.spec, state: rendered.existing[step.unit] });
  }

  #count(unit: UnitId): Pick<Drift, "times" | "at"> {
    const at = this.#now();
    const recent = [...(this.#drifts.get(unit) ?? []).filter((before) => before > at - HOUR_MS), at];
    this.#drifts.set(unit, recent);
    return { times: recent.length, at };
  }

  #forget(unit: UnitId): void {
    this.#settled.delete(unit);
    this.#drifts.delete(unit);
  }
}

/** What was changed outside the cluster, for an Event: `type was changed to lb21, target server-3 was removed`. */
export function describeDrift(differences: readonly Difference[]): string {
  const described = differences.map((difference) => {
    const field = describeField(difference);
    if (difference.have === undefined) return `${field} was removed`;
    return difference.want === undefined ? `${field} was added` : `${field} was changed to ${difference.have}`;
  });
  return nameFirst(described, 5);
}
