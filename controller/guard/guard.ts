/** Holds back suspiciously many removals, and tells drift from changes that are yet to be applied. */
import { isDeepStrictEqual } from "node:util";
import { type Difference, describeField } from "../../stacks/units/difference.ts";
import { kindOf } from "../../stacks/units/names.ts";
import type { UnitId, UnitSpec, UnitState } from "../../stacks/units/spec.ts";
import { type Plan, type PlannedUnit, type Situation, wantedSpecs } from "./plan.ts";

/** Removals are held back when they exceed both limits. */
export interface GuardLimits {
  /** Number of removals. */
  readonly removals: number;
  /** Removals as a share of all units of a kind. */
  readonly share: number;
}

/** The defaults. */
export const GUARD_LIMITS: GuardLimits = { removals: 5, share: 1 / 3 };

/** A plan after the guard. */
export interface Guarded {
  readonly plan: Plan;
  /** Set when removals were taken out of the plan: which ones, for an Event. */
  readonly stopped?: string;
  /** Number of removals held back. */
  readonly held: number;
}

/** Whether a number of removals, of `total` that exist, is more than both limits. */
export function exceeds(count: number, total: number, { removals, share }: GuardLimits): boolean {
  return count > removals && count > total * share;
}

/** What would happen to units although no object asks for it. */
const SURPRISES = { remove: "removed", move: "moved to another network" } as const;

/**
 * Returns the plan, without the removals that no object asked for if they exceed the limits. Other steps always pass. Each
 * kind of unit is compared with its own number: load balancers, which tenants create, must not make room for routes.
 */
export function guard({ rendered, plan, heldTargets }: Situation, limits: GuardLimits = GUARD_LIMITS): Guarded {
  const states = Map.groupBy(Object.values(rendered.existing), (state) => state?.kind);
  const groups = Map.groupBy(plan.filter(isSurprising), ({ kind, unit }) => `${kindOf(unit)} ${kind}`);
  const stopped = [...groups.values()].flatMap((steps) => {
    const [{ kind, unit }] = steps as [PlannedUnit];
    const total = states.get(kindOf(unit))?.length ?? 0;
    if (!exceeds(steps.length, total, limits)) return [];
    const fate = SURPRISES[kind === "remove" ? "remove" : "move"];
    const things = `${kindOf(unit).replace("-", " ")}s`;
    return [
      {
        steps,
        text: describeHeld(
          steps.map((step) => step.unit),
          { total, things, fate },
        ),
      },
    ];
  });
  const held = stopped.flatMap(({ steps }) => steps);
  const texts = stopped.map(({ text }) => text);
  if (heldTargets) {
    const { names, total } = heldTargets;
    texts.push(describeHeld(names, { total, things: "targets", fate: SURPRISES.remove }));
  }
  return {
    plan: held.length > 0 ? plan.filter((step) => !held.includes(step)) : plan,
    ...(texts.length > 0 && { stopped: texts.join("; ") }),
    held: held.length + (heldTargets?.names.length ?? 0),
  };
}

/** A removal without an object that asks for it. Another network detaches a load balancer and replaces all its targets. */
function isSurprising(step: PlannedUnit): boolean {
  if (step.kind === "remove") return !step.asked;
  return step.differences.some(({ part, field, have }) => part === "network" && field === "id" && have !== undefined);
}

function describeHeld(names: readonly string[], of: { total: number; things: string; fate: string }): string {
  return `${names.length} of ${of.total} ${of.things} would be ${of.fate} although no object asks for it: ${nameFirst(names, 3)}`;
}

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

  /** Compares units with what they matched, and returns those that drifted. Others match, unless they are under way. */
  observe({ rendered, plan, underWay }: Situation): readonly Drift[] {
    const specs = wantedSpecs(rendered);
    const dirty = new Map(plan.map((step) => [step.unit, step.differences]));
    const drifted = [...specs].flatMap(([unit, spec]): Drift[] => {
      if (underWay?.has(unit)) return [];
      const found = dirty.get(unit);
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
  settle({ rendered, plan, underWay = new Set() }: Situation, due: Plan): void {
    const left = new Set([...plan.map(({ unit }) => unit), ...underWay]);
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
  const described = differences.map((difference) => words(describeField(difference), difference));
  return nameFirst(described, 5);
}

/** Names the first few and counts the rest: `a, b and 3 more`. */
function nameFirst(names: readonly string[], most: number): string {
  const more = names.length - most;
  return names.slice(0, most).join(", ") + (more > 0 ? ` and ${more} more` : "");
}
