/** The rate limit of the API. */
import type { Clock } from "../state/clock.ts";

const HOUR_MS = 3_600_000;

/** The bucket after a request, for the response headers. */
export interface RateLimitState {
  readonly isAllowed: boolean;
  readonly limit: number;
  readonly remaining: number;
  /** Unix seconds at which the bucket is full again. */
  readonly reset: number;
}

/** A token bucket for the project. It starts full and refills continuously. */
export class RateLimit {
  readonly #clock: Clock;
  readonly #limit: number;
  readonly #perMs: number;
  #level: number;
  #at: number;

  constructor(perHour: number, clock: Clock) {
    this.#clock = clock;
    this.#limit = perHour;
    this.#perMs = perHour / HOUR_MS;
    this.#level = perHour;
    this.#at = clock.now();
  }

  take(): RateLimitState {
    const now = this.#clock.now();
    this.#level = Math.min(this.#limit, this.#level + Math.max(0, now - this.#at) * this.#perMs);
    this.#at = now;
    const isAllowed = this.#level >= 1;
    if (isAllowed) this.#level -= 1;
    const remaining = Math.floor(this.#level);
    const fullInMs = (this.#limit - this.#level) / this.#perMs;
    return { isAllowed, limit: this.#limit, remaining, reset: Math.ceil((now + fullInMs) / 1000) };
  }
}
