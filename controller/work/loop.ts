/** Loops that run on demand: a burst of wake-ups causes one run, and runs of one loop never overlap. */
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { TIMINGS } from "./timings.ts";

/** Observes loops, for metrics. */
export interface LoopObserver {
  /** A run was requested. */
  asked(name: string): void;
  /** A run starts, `waitedMs` after it was first requested. */
  started(name: string, waitedMs: number): void;
  ended(name: string, durationMs: number, isFine: boolean): void;
}

/** What a loop runs, and when. */
export interface LoopOptions {
  readonly name: string;
  /** Does the work. May return the maximum time until the next run, in milliseconds. */
  readonly work: () => Promise<number | undefined>;
  /** A run starts when no wake-up has come for this long … */
  readonly quietMs: number;
  /** … or when the first wake-up is this old. */
  readonly patienceMs: number;
  /** Minimum time between the starts of two runs; none when absent. */
  readonly minIntervalMs?: ((name: string) => number) | undefined;
  /** Interval of runs without a wake-up. Each comes at a random point of its second half. */
  readonly everyMs: number;
  readonly log: Logger;
  readonly observer?: LoopObserver;
}

/** A loop around one piece of work. */
export class Loop {
  readonly #options: LoopOptions;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  /** Latest start of the next run, as the last one requested. */
  #appointedAt = Number.POSITIVE_INFINITY;
  #askedAt: number | undefined;
  /** Start of the current or last run. */
  #startedAt = Number.NEGATIVE_INFINITY;
  #running: Promise<void> | undefined;
  #failures = 0;
  #isStopped = false;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Requests a run soon. During a run, requests another one after it. */
  wake(): void {
    const now = performance.now();
    this.#askedAt ??= now;
    const { name, quietMs, patienceMs, observer } = this.#options;
    observer?.asked(name);
    this.#schedule(Math.min(now + quietMs, this.#askedAt + patienceMs, this.#appointedAt));
  }

  /** Duration of the current run so far; 0 when there is none. */
  get runningMs(): number {
    return this.#running ? performance.now() - this.#startedAt : 0;
  }

  /** Stops the loop after the current run. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    clearTimeout(this.#timer);
    await this.#running;
  }

  #schedule(at: number): void {
    if (this.#isStopped) return;
    this.#dueAt = at;
    clearTimeout(this.#timer);
    if (this.#running) return;
    const { name, minIntervalMs } = this.#options;
    const earliest = this.#startedAt + (minIntervalMs?.(name) ?? 0);
    this.#timer = setTimeout(() => this.#start(), Math.max(0, Math.max(at, earliest) - performance.now()));
  }

  #start(): void {
    const { name, observer } = this.#options;
    const startedAt = performance.now();
    observer?.started(name, startedAt - (this.#askedAt ?? startedAt));
    this.#startedAt = startedAt;
    this.#askedAt = undefined;
    this.#dueAt = Number.POSITIVE_INFINITY;
    this.#appointedAt = Number.POSITIVE_INFINITY;
    this.#running = this.#run().then((againMs) => {
      this.#running = undefined;
      observer?.ended(name, performance.now() - startedAt, this.#failures === 0);
      this.#appointedAt = performance.now() + againMs;
      this.#schedule(Math.min(this.#appointedAt, this.#dueAt));
    });
  }

  /** Runs once. Returns the maximum time until the next run; failed runs are retried with growing pauses. */
  async #run(): Promise<number> {
    const { name, work, everyMs, log } = this.#options;
    const rest = everyMs * (0.5 + Math.random() / 2);
    try {
      const wantedMs = await work();
      this.#failures = 0;
      return Math.min(wantedMs ?? rest, rest);
    } catch (error) {
      const { first, most } = TIMINGS.turnRetry;
      const pauseMs = Math.min(first * 2 ** this.#failures, most);
      this.#failures += 1;
      log.warn({ loop: name, error: messageOf(error), pauseMs }, "turn failed, retrying");
      return pauseMs;
    }
  }
}

/** A group of loops that start and stop together. */
export class Loops<Name extends string> {
  readonly #loops: ReadonlyMap<string, Loop>;
  #isStarted = false;

  /** One loop per piece of work, by name; `false` turns one off. */
  constructor(works: { [N in Name]?: LoopOptions["work"] | false }, shared: Omit<LoopOptions, "name" | "work">) {
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

  get isStarted(): boolean {
    return this.#isStarted;
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
