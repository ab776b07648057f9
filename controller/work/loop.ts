/** Runs one piece of work on demand: a burst of wake-ups causes one run, and runs never overlap. */
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
  #startedAt: number | undefined;
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
    return this.#startedAt === undefined ? 0 : performance.now() - this.#startedAt;
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
    this.#timer = setTimeout(() => this.#start(), Math.max(0, at - performance.now()));
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
      this.#startedAt = undefined;
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
