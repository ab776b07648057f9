/** When a balancer that is not listed is known to be gone, and not on its way. */
import type { UnitOutcome } from "../../stacks/run.ts";
import type { UnitId } from "../../stacks/spec.ts";
import { TIMINGS } from "../work/timings.ts";
import type { Desired } from "./desired.ts";

const NEVER = Number.NEGATIVE_INFINITY;

/** Failures that leave open whether the API did what it was asked for. */
const UNANSWERED = new Set(["unavailable", "timeout", "bad_gateway"]);

/**
 * A killed controller, or an API that did not answer, may have left a creation on its way; and a list may lack what is
 * there. A list that does not show the balancer proves nothing by itself; a Service let go on it would leave the balancer
 * without an owner.
 *
 * | balancer | was listed before | last doubt | then |
 * | --- | --- | --- | --- |
 * | listed | – | – | not absent |
 * | not listed | yes, and a run has taken it away since | – | gone |
 * | not listed | yes, and no run has | less than 30 s ago: when it vanished | may be missing from the list |
 * | not listed | no | less than 30 s ago | may be on its way |
 * | not listed | – | longer ago | gone |
 *
 * The first doubt is the start: nobody knows what was on its way before.
 */
export class Absence {
  readonly #now: () => number;
  /** When each unit was last in doubt; never, for one that was listed since. */
  readonly #doubts = new Map<UnitId, number>();
  /** What runs have taken away from Services that go. */
  readonly #taken = new Set<UnitId>();
  #startedAt: number | undefined;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Takes note of what is listed. */
  observe({ services, present }: Desired): void {
    this.#startedAt ??= this.#now();
    const kinds = new Map(services.map(({ unit, kind }) => [unit, kind]));
    for (const unit of kinds.keys()) {
      if (present[unit]) this.#doubts.set(unit, NEVER);
      else if (this.#doubts.get(unit) === NEVER && !this.#taken.has(unit)) this.#doubts.set(unit, this.#now());
    }
    for (const unit of this.#doubts.keys()) if (!kinds.has(unit)) this.#doubts.delete(unit);
    for (const unit of this.#taken) if (kinds.get(unit) !== "release") this.#taken.delete(unit);
  }

  /** Takes note that a run has removed a unit, or has left it without owner, as it says itself. */
  take(unit: UnitId): void {
    this.#taken.add(unit);
    this.#doubts.set(unit, NEVER);
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
    return (this.#doubts.get(unit) ?? this.#startedAt ?? now) + TIMINGS.absence - now;
  }
}
