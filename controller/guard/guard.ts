/** May this change happen? Stops deletions that no object asked for when they are suspiciously many. */
import { nameFirst } from "./drift.ts";
import type { Plan } from "./plan.ts";

export interface GuardLimits {
  /** So many removals at once are always fine. */
  readonly removals: number;
  /** Beyond that, no more than this share of all units. */
  readonly share: number;
}

export const GUARD_LIMITS: GuardLimits = { removals: 5, share: 1 / 3 };

export interface Guarded {
  readonly plan: Plan;
  /** Set when removals were taken out of the plan: why, in words for an Event. */
  readonly stopped?: string;
  /** How many. */
  readonly held: number;
}

/**
 * Lets a plan pass, or takes out the removals that nobody asked for. What is to be made is never held up. `total` is how
 * many of our units exist.
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
