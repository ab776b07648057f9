/** Values that are read again once they are too old. */
import { SYSTEM_CLOCK } from "./clock.ts";

/** A value with an age. A failed read leaves nothing behind: the next one asks again. */
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

  /** A value whose reading began at most `maxAgeMs` ago. With 0 it begins now: what happened before is in it. */
  get(maxAgeMs: number): Promise<T> {
    if (this.#value && this.#now() - this.#startedAt < maxAgeMs) return this.#value;
    // A read that has begun may have missed what the caller knows of; one that waits for it to end has not.
    const before = this.#isReading ? this.#value : undefined;
    this.#startedAt = this.#now();
    this.#isReading = true;
    const value = (async () => {
      await before?.catch(() => {}); // whoever asked for it hears of it
      return this.#read();
    })();
    this.#value = value;
    const done = (isFine: boolean) => {
      if (this.#value !== value) return;
      this.#isReading = false;
      if (!isFine) this.#value = undefined;
    };
    value.then(
      () => done(true),
      () => done(false),
    );
    return value;
  }
}
