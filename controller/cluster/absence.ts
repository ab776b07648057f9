/** When a balancer that is not listed is known to be gone, and not on its way. */
import type { UnitOutcome } from "../../stacks/run.ts";
import type { UnitId } from "../../stacks/spec.ts";
import type { Desired } from "./desired.ts";

/** A request that nobody waits for any more has come to its end by then: as long as an answer is waited for. */
const SETTLE_MS = 30_000;

const NEVER = Number.NEGATIVE_INFINITY;

/** Failures that leave open whether the API did what it was asked for. */
const UNANSWERED = new Set(["unavailable", "timeout", "bad_gateway"]);

/**
 * A killed controller, or an API that did not answer, may have left a creation on its way. A list that does not show the
 * balancer proves nothing until that time is over; a Service let go on it would leave the balancer without an owner.
 *
 * | balancer | was listed before | last doubt | then |
 * | --- | --- | --- | --- |
 * | listed | – | – | not absent |
 * | not listed | yes, after the last doubt | – | gone |
 * | not listed | no | less than 30 s ago | may be on its way |
 * | not listed | no | longer ago | gone |
 *
 * The first doubt is the start: nobody knows what was on its way before.
 */
export class Absence {
  readonly #now: () => number;
  /** When each unit was last in doubt; never, for one that was listed since. */
  readonly #doubts = new Map<UnitId, number>();
  #startedAt: number | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Takes note of what is listed. */
  observe({ services, present }: Desired): void {
    this.#startedAt ??= this.#now();
    const wished = new Set(services.map(({ unit }) => unit));
    for (const unit of wished) if (present[unit]) this.#doubts.set(unit, NEVER);
    for (const unit of this.#doubts.keys()) if (!wished.has(unit)) this.#doubts.delete(unit);
  }

  /** Takes note of a creation that may still be on its way. */
  learn(unit: UnitId, outcome: UnitOutcome | undefined): void {
    if (outcome?.status === "failed" && UNANSWERED.has(outcome.failure.code)) this.#doubts.set(unit, this.#now());
  }

  /** For how long the absence of Services that go proves nothing yet, in milliseconds by unit. */
  unproven({ services, present }: Desired): ReadonlyMap<UnitId, number> {
    const absent = services.filter(({ kind, unit }) => kind === "release" && !present[unit]);
    const waits = absent.map(({ unit }): [UnitId, number] => [unit, this.#waitMs(unit)]);
    return new Map(waits.filter(([, waitMs]) => waitMs > 0));
  }

  #waitMs(unit: UnitId): number {
    const now = this.#now();
    return (this.#doubts.get(unit) ?? this.#startedAt ?? now) + SETTLE_MS - now;
  }
}
