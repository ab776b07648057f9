/** Runs one piece of work when it is asked for: a burst of calls makes one run, and there is never more than one at a time. */
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { TIMINGS } from "./timings.ts";

/** Told what loops do, for whoever measures it. */
export interface LoopObserver {
  /** Somebody asks for a run. */
  asked(name: string): void;
  /** A run begins, so long after it was first asked for. */
  started(name: string, waitedMs: number): void;
  ended(name: string, durationMs: number, isFine: boolean): void;
}

export interface LoopOptions {
  readonly name: string;
  /** Does the work. May say when it wants to run again at the latest, in milliseconds. */
  readonly work: () => Promise<number | undefined>;
  /** A run starts when no call has come for this long … */
  readonly quietMs: number;
  /** … or when the first call is this old. */
  readonly patienceMs: number;
  /** Runs without being asked, at a random point of the second half of this interval. */
  readonly everyMs: number;
  readonly log: Logger;
  readonly observer?: LoopObserver;
}

export class Loop {
  readonly #options: LoopOptions;
  #timer: NodeJS.Timeout | undefined;
  #dueAt = Number.POSITIVE_INFINITY;
  /** When the last run wanted the next one at the latest. */
  #appointedAt = Number.POSITIVE_INFINITY;
  #askedAt: number | undefined;
  #startedAt: number | undefined;
  #running: Promise<void> | undefined;
  #failures = 0;
  #isStopped = false;

  constructor(options: LoopOptions) {
    this.#options = options;
  }

  /** Asks for a run soon. Calls during a run make another one after it. */
  wake(): void {
    const now = performance.now();
    this.#askedAt ??= now;
    const { name, quietMs, patienceMs, observer } = this.#options;
    observer?.asked(name);
    this.#schedule(Math.min(now + quietMs, this.#askedAt + patienceMs, this.#appointedAt));
  }

  /** How long the run under way has taken so far; 0 when there is none. */
  get runningMs(): number {
    return this.#startedAt === undefined ? 0 : performance.now() - this.#startedAt;
  }

  /** Ends the loop. A run under way is waited for. */
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

  /** One run. Returns the time until the next one at the latest; a failed run is repeated with growing pauses. */
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
