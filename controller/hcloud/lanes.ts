/** Order for each resource: writes one after the other, reads behind the writes that came before them. */
export class Lanes {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** Runs the work when everything queued for the key before it has ended. */
  async run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#tails.get(key);
    const mine = (async () => {
      await before?.catch(() => {}); // its own caller hears of it
      return work();
    })();
    this.#tails.set(key, mine);
    try {
      return await mine;
    } finally {
      if (this.#tails.get(key) === mine) this.#tails.delete(key);
    }
  }

  /** Resolves when nothing is queued for the key any more. */
  async idle(key: string): Promise<void> {
    for (let tail = this.#tails.get(key); tail; tail = this.#tails.get(key)) await tail.catch(() => {}); // as above
  }

  isIdle(key: string): boolean {
    return !this.#tails.has(key);
  }
}
