/** Values that are read again once they are too old. */
import { SYSTEM_CLOCK } from "./clock.ts";

/** A value with an age. A failed read is not cached. */
export class Aged<T> {
  readonly #read: () => Promise<T>;
  readonly #now: () => number;
  #value: Promise<T> | undefined;
  #startedAt = 0;
  #isReading = false;

  constructor(read: () => Promise<T>, now = SYSTEM_CLOCK.now) {
    this.#read = read;
    this.#now = now;
  }

  /** A value whose read started at most `maxAgeMs` ago. With 0, a new read starts, which includes everything before now. */
  get(maxAgeMs: number): Promise<T> {
    if (this.#value && this.#now() - this.#startedAt < maxAgeMs) return this.#value;
    // A read in progress may have missed a recent change; a new one that starts after it has not.
    const before = this.#isReading ? this.#value : undefined;
    this.#startedAt = this.#now();
    this.#isReading = true;
    const value = (async () => {
      await before?.catch(() => {}); // its own caller handles the failure
      return this.#read();
    })();
    this.#value = value;
    const done = (isFine: boolean) => () => {
      if (this.#value !== value) return;
      this.#isReading = false;
      if (!isFine) this.#value = undefined;
    };
    value.then(done(true), done(false));
    return value;
  }
}
