/** Request order per resource, and when each was last written to. */
import { SYSTEM_CLOCK } from "../work/clock.ts";

/** Runs the writes to one resource one after another, and lets reads wait for the writes before them. */
export class Lanes {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Runs the work after everything already queued for the key. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key);
    const mine = (async () => {
      await before?.catch(() => {}); // its own caller handles the failure
      return work();
    })();
    this.#tails.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#tails.get(key) === mine) this.#tails.delete(key);
    }
  }

  /** Resolves when nothing is queued for the key. */
  async idle(key: string): Promise<void> {
    for (let tail = this.#tails.get(key); tail; tail = this.#tails.get(key)) await tail.catch(() => {}); // as above
  }
}

/** When resources and collections were last written to: a read that started later shows the result. */
export class WriteTimes {
  readonly #now: () => number;
  readonly #open = new Map<string, number>();
  readonly #endedAt = new Map<string, number>();
  /** Writes that ended before are forgotten. */
  #horizon = Number.NEGATIVE_INFINITY;

  constructor(now = SYSTEM_CLOCK.now) {
    this.#now = now;
  }

  /** A write begins. Call the result when its effect shows in every read. */
  begin(key: string): () => void {
    this.#open.set(key, (this.#open.get(key) ?? 0) + 1);
    return () => {
      const left = (this.#open.get(key) ?? 1) - 1;
      if (left > 0) this.#open.set(key, left);
      else this.#open.delete(key);
      this.#endedAt.set(key, this.#now());
    };
  }

  /** Milliseconds since the last write has ended: 0 during a write, Infinity without any, and less than that if it was forgotten. */
  sinceMs(key: string): number {
    return this.#open.has(key) ? 0 : this.#now() - (this.#endedAt.get(key) ?? this.#horizon);
  }

  /** Forgets when older writes ended, but not that there may have been some: a read may have started before them. */
  sweep(maxAgeMs: number): void {
    this.#horizon = this.#now() - maxAgeMs;
    for (const [key, endedAt] of this.#endedAt) if (endedAt <= this.#horizon) this.#endedAt.delete(key);
  }
}
