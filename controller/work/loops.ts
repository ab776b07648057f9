/** The loops of the controller. None runs before it leads; all end together. */
import { Loop, type LoopOptions } from "./loop.ts";

export class Loops<Name extends string> {
  readonly #loops: ReadonlyMap<string, Loop>;
  #isStarted = false;

  /** A loop for each piece of work, by its name; what is switched off has none. */
  constructor(
    works: { readonly [N in Name]?: LoopOptions["work"] | false },
    shared: Omit<LoopOptions, "name" | "work">,
  ) {
    const entries = Object.entries<LoopOptions["work"] | false | undefined>(works);
    this.#loops = new Map(
      entries.flatMap(([name, work]) => (work ? [[name, new Loop({ ...shared, name, work })]] : [])),
    );
  }

  /** Starts all, each with a first run. */
  start(): void {
    this.#isStarted = true;
    for (const loop of this.#loops.values()) loop.wake();
  }

  /** Asks for a run soon. Before the start there is nothing to do: the first run sees everything. */
  wake(...names: readonly Name[]): void {
    if (this.#isStarted) for (const name of names) this.#loops.get(name)?.wake();
  }

  /** How long the runs under way have taken so far, in milliseconds, by loop. */
  get runningMs(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#loops].map(([name, loop]) => [name, loop.runningMs]));
  }

  /** Ends all. Runs under way are waited for; those that take longer than `graceMs` are ended with `hurry`. */
  async stop(graceMs: number, hurry: () => Promise<void>): Promise<void> {
    this.#isStarted = false;
    const late = setTimeout(() => void hurry(), graceMs);
    await Promise.all([...this.#loops.values()].map((loop) => loop.stop()));
    clearTimeout(late);
  }
}
