/** Which units have failed, and when each may be retried. */
import type { Failure } from "../../stacks/engine/run.ts";
import { SYSTEM_CLOCK } from "../work/clock.ts";
import { TIMINGS } from "../work/timings.ts";

interface Entry {
  readonly fingerprint: string;
  readonly failures: number;
  readonly retryAt: number;
}

/** A failure applies to a fingerprint of what was attempted: when the spec or the state changes, the unit is due at once. */
export class Backoff {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;

  constructor(now = SYSTEM_CLOCK.now) {
    this.#now = now;
  }

  isDue(key: string, fingerprint: string): boolean {
    const entry = this.#entries.get(key);
    return !entry || entry.fingerprint !== fingerprint || entry.retryAt <= this.#now();
  }

  failed(key: string, fingerprint: string, retry: Failure["retry"]): void {
    const before = this.#entries.get(key);
    const failures = before?.fingerprint === fingerprint ? before.failures + 1 : 1;
    const { first, most } = TIMINGS.unitRetry[retry];
    const retryAt = this.#now() + Math.min(first * 2 ** (failures - 1), most);
    this.#entries.set(key, { fingerprint, failures, retryAt });
  }

  /** Postpones the retry of a unit until its outcome is known. Its failures still count. */
  suspend(key: string): void {
    const entry = this.#entries.get(key);
    if (entry) this.#entries.set(key, { ...entry, retryAt: Number.POSITIVE_INFINITY });
  }

  /** Forgets a unit: it succeeded, or is no longer wanted. */
  clear(key: string): void {
    this.#entries.delete(key);
  }

  /** Forgets all units but these. */
  retain(keys: ReadonlySet<string>): void {
    for (const key of this.#entries.keys()) if (!keys.has(key)) this.#entries.delete(key);
  }

  /** Milliseconds until the next unit is due; undefined when none is going to be. */
  get nextMs(): number | undefined {
    const first = Math.min(...[...this.#entries.values()].map(({ retryAt }) => retryAt));
    return Number.isFinite(first) ? Math.max(0, first - this.#now()) : undefined;
  }
}
