/**
 * The rate budget of the project, from the headers of the API's responses. The API refills it continuously (limit per hour).
 * All clients of the project share it, so their requests show only in the next response.
 */
import { SYSTEM_CLOCK } from "../work/clock.ts";

/** `urgent` requests may use the reserve. */
export type Priority = "normal" | "urgent";

/** Requests reserved for node lifecycle and deletions, which must not wait. */
const RESERVE = 60;
const HOUR_MS = 3_600_000;

/** From this share of the budget on, turns are delayed: up to `most` when nothing is left. */
const SCARCE = { share: 0.5, least: 2_000, most: 30_000 };

/** Minimum interval between turns: none while there is plenty, then the longer, the less is left. */
export function minIntervalMs({ remaining, limit }: Pick<Budget, "remaining" | "limit">): number {
  const { share, least, most } = SCARCE;
  const missing = 1 - remaining / (limit * share);
  return missing <= 0 ? 0 : least + (most - least) * missing;
}

/** Counts requests against the rate limit. */
export class Budget {
  readonly #now: () => number;
  #limit = 3600;
  #remaining = 3600;
  #inFlight = 0;
  /** Requests that wait for their slot. Each delays those that come after it by one slot. */
  readonly #waiting: Record<Priority, number> = { normal: 0, urgent: 0 };
  /** True after a 429, until a response shows what is left. */
  #isRefused = false;
  #at: number;

  constructor(now = SYSTEM_CLOCK.now) {
    this.#now = now;
    this.#at = now();
  }

  /** Requests that can be sent now. */
  get remaining(): number {
    const refilled = ((this.#now() - this.#at) * this.#limit) / HOUR_MS;
    return Math.min(this.#limit, this.#remaining + refilled);
  }

  get limit(): number {
    return this.#limit;
  }

  /**
   * Counts one request if the budget suffices, and returns 0. Otherwise returns how long it waits for its slot, behind those
   * that wait already; an urgent request only behind urgent ones. `endWait` must follow.
   */
  spend(priority: Priority): number {
    const { normal, urgent } = this.#waiting;
    const reserve = Math.min(RESERVE, this.#limit / 10);
    const ahead = priority === "urgent" ? urgent : reserve + urgent + normal;
    const missing = ahead + 1 - this.remaining;
    if (missing > 0) this.#waiting[priority] += 1;
    else this.#send();
    return missing <= 0 ? 0 : Math.ceil((missing * HOUR_MS) / this.#limit);
  }

  /** Ends the wait of a request: it is sent now, or was dropped and gives its slot back. */
  endWait(priority: Priority, isSent: boolean): void {
    this.#waiting[priority] -= 1;
    if (isSent) this.#send();
  }

  #send(): void {
    this.#settle(this.remaining - 1);
    this.#inFlight += 1;
  }

  /** Updates the budget from the response to a counted request. A 429 empties it, whatever the headers say. */
  learn(status: number, headers: Readonly<Record<string, string>>): void {
    this.#inFlight = Math.max(0, this.#inFlight - 1);
    const limit = Number(headers["ratelimit-limit"]);
    const remaining = Number(headers["ratelimit-remaining"]);
    if (limit > 0) this.#limit = limit;
    const hasRemaining = headers["ratelimit-remaining"] !== undefined && Number.isFinite(remaining);
    if (status === 429) this.#settle(0);
    // The header does not include requests still in flight.
    else if (hasRemaining) this.#settle(remaining - this.#inFlight);
    // An API that responds again without rate headers has no limit.
    else if (this.#isRefused && status >= 200 && status < 300) this.#settle(this.#limit);
    else return;
    this.#isRefused = status === 429;
  }

  #settle(remaining: number): void {
    this.#remaining = Math.max(0, remaining);
    this.#at = this.#now();
  }
}
