/** Clocks for tests: one that a test moves by hand, and one on which real pauses are short. */
import { setImmediate, setTimeout } from "node:timers/promises";
import type { Clock } from "../../controller/work/clock.ts";

interface Sleeper {
  readonly until: number;
  readonly wake: () => void;
}

/** A clock that stands still until `advance`. Pauses end in order, and what they wake runs before the next one ends. */
export class ManualClock implements Clock {
  readonly #sleepers = new Set<Sleeper>();
  readonly #epoch: number;
  #now = 0;

  constructor(epoch = "2026-01-01T00:00:00Z") {
    this.#epoch = Date.parse(epoch);
  }

  readonly now = () => this.#now;
  readonly wallTime = () => this.#epoch + this.#now;

  readonly pause = (ms: number, signal?: AbortSignal): Promise<void> => {
    if (signal?.aborted) return Promise.resolve();
    const { promise, resolve } = Promise.withResolvers<void>();
    const sleeper: Sleeper = { until: this.#now + ms, wake: resolve };
    this.#sleepers.add(sleeper);
    signal?.addEventListener("abort", () => {
      this.#sleepers.delete(sleeper);
      resolve();
    });
    return promise;
  };

  /** How many pauses have not ended. */
  get sleeping(): number {
    return this.#sleepers.size;
  }

  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await setImmediate();
    for (let next = this.#next(end); next; next = this.#next(end)) {
      this.#now = Math.max(this.#now, next.until);
      this.#sleepers.delete(next);
      next.wake();
      await setImmediate();
    }
    this.#now = end;
  }

  #next(end: number): Sleeper | undefined {
    const due = [...this.#sleepers].filter(({ until }) => until <= end);
    return due.toSorted((a, b) => a.until - b.until)[0];
  }
}

/** A clock in real time on which pauses pass a hundred times faster, and are written down. `skip` moves it ahead. */
export class QuickClock implements Clock {
  /** Every pause asked for, in milliseconds. */
  readonly pauses: number[] = [];
  #skipped = 0;

  readonly now = () => performance.now() + this.#skipped;
  readonly wallTime = () => Date.now() + this.#skipped;

  readonly pause = async (ms: number, signal?: AbortSignal): Promise<void> => {
    this.pauses.push(ms);
    await setTimeout(ms / 100, undefined, signal && { signal }).catch(() => {}); // an abort ends a pause
  };

  skip(ms: number): void {
    this.#skipped += ms;
  }
}
