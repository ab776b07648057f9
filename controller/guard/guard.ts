/** Holds back removals that no object asked for when there are suspiciously many. */
import { nameFirst } from "./drift.ts";
import type { Plan } from "./plan.ts";

/** Removals are held back when they exceed both limits. */
export interface GuardLimits {
  /** Number of removals. */
  readonly removals: number;
  /** Removals as a share of all units. */
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

/**
 * Returns the plan, without the removals that no object asked for if they exceed the limits. Other steps always pass.
 * `total` is the number of existing units.
 */
export function guard(plan: Plan, total: number, limits: GuardLimits = GUARD_LIMITS): Guarded {
  const surprising = plan.filter((step) => step.kind === "remove" && !step.asked);
  if (surprising.length <= limits.removals || surprising.length <= total * limits.share) {
    return { plan, held: 0 };
  }
  const units = surprising.map(({ unit }) => unit);
  const stopped = `${units.length} of ${total} units would be removed although no object asks for it: ${nameFirst(units, 3)}`;
  return { plan: plan.filter((step) => !surprising.includes(step)), stopped, held: surprising.length };
}
