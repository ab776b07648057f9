/**
 * The rate budget of the project: how many requests the API will still answer, from its own headers. The API refills it
 * continuously (limit per hour), and the whole project shares it, so that other clients are seen only in the next answer.
 */
import { SYSTEM_CLOCK } from "../work/clock.ts";

export type Priority = "normal" | "urgent";

/** Requests kept back for what must not wait: node lifecycle and deletions. */
const RESERVE = 60;
const HOUR_MS = 3_600_000;

export class Budget {
  readonly #now: () => number;
  #limit = 3600;
  #remaining = 3600;
  #inFlight = 0;
  /** True after a refusal, until an answer says how things stand. */
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

  /** Takes one request out of the budget. Returns how long to wait before sending it, 0 when there is enough. */
  spend(priority: Priority): number {
    const reserve = priority === "urgent" ? 0 : Math.min(RESERVE, this.#limit / 10);
    const missing = reserve + 1 - this.remaining;
    this.#settle(this.remaining - 1);
    this.#inFlight += 1;
    return missing <= 0 ? 0 : Math.ceil((missing * HOUR_MS) / this.#limit);
  }

  /** Takes in what the answer to a spent request says, or that there was none. A refusal empties the budget whatever the headers say. */
  learn(status: number, headers: Readonly<Record<string, string>>): void {
    this.#inFlight = Math.max(0, this.#inFlight - 1);
    const limit = Number(headers["ratelimit-limit"]);
    const remaining = Number(headers["ratelimit-remaining"]);
    if (limit > 0) this.#limit = limit;
    const isTold = headers["ratelimit-remaining"] !== undefined && Number.isFinite(remaining);
    if (status === 429) this.#settle(0);
    // Requests still in flight are not in the header yet.
    else if (isTold) this.#settle(remaining - this.#inFlight);
    // An API that answers again and says nothing of a limit has none to keep to.
    else if (this.#isRefused && status >= 200 && status < 300) this.#settle(this.#limit);
    else return;
    this.#isRefused = status === 429;
  }

  #settle(remaining: number): void {
    this.#remaining = Math.max(0, remaining);
    this.#at = this.#now();
  }
}
