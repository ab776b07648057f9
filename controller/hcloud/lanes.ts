/** Request order per resource. */

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

  isIdle(key: string): boolean {
    return !this.#tails.has(key);
  }
}
