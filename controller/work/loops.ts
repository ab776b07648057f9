/** The loops of the controller. None runs before it leads; all stop together. */
import { Loop, type LoopOptions } from "./loop.ts";

/** A group of loops that start and stop together. */
export class Loops<Name extends string> {
  readonly #loops: ReadonlyMap<string, Loop>;
  #isStarted = false;

  /** One loop per piece of work, by name; `false` turns one off. */
  constructor(
    works: { readonly [N in Name]?: LoopOptions["work"] | false },
    shared: Omit<LoopOptions, "name" | "work">,
  ) {
    const entries = Object.entries<LoopOptions["work"] | false | undefined>(works);
    this.#loops = new Map(
      entries.flatMap(([name, work]) => (work ? [[name, new Loop({ ...shared, name, work })]] : [])),
    );
  }

  /** Starts all loops, each with a first run. */
  start(): void {
    this.#isStarted = true;
    for (const loop of this.#loops.values()) loop.wake();
  }

  /** Requests a run soon. Ignored before the start, because the first run sees everything. */
  wake(...names: readonly Name[]): void {
    if (this.#isStarted) for (const name of names) this.#loops.get(name)?.wake();
  }

  /** Duration of the current runs so far in milliseconds, by loop. */
  get runningMs(): Readonly<Record<string, number>> {
    return Object.fromEntries([...this.#loops].map(([name, loop]) => [name, loop.runningMs]));
  }

  /** Stops all loops after their current runs. Calls `hurry` if that takes longer than `graceMs`. */
  async stop(graceMs: number, hurry: () => Promise<void>): Promise<void> {
    this.#isStarted = false;
    const late = setTimeout(() => void hurry(), graceMs);
    await Promise.all([...this.#loops.values()].map((loop) => loop.stop()));
    clearTimeout(late);
  }
}
