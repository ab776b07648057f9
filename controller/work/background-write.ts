/** A write that happens in the background, some time after it was requested. */
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";

interface BackgroundWriteOptions {
  /** Requests within this time cause one write. */
  readonly delayMs: number;
  readonly write: () => Promise<void>;
  /** Logged when a write fails. It is retried after a while, with the next request or at the stop. */
  readonly failure: string;
  readonly log: Logger;
}

/** Pause before a failed write is repeated, unless another request comes first. */
const RETRY_MS = 30_000;

/** Gathers requests and writes once for all of them, never twice at the same time. */
export class BackgroundWrite {
  readonly #options: BackgroundWriteOptions;
  #timer: NodeJS.Timeout | undefined;
  #retry: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: BackgroundWriteOptions) {
    this.#options = options;
  }

  /** Requests a write and returns at once. Never fails. */
  request(): void {
    this.#timer ??= setTimeout(() => this.#start(), this.#options.delayMs);
  }

  /** Performs a requested or failed write now, and waits for it. */
  async stop(): Promise<void> {
    if (this.#timer || this.#retry) this.#start();
    await this.#writing;
  }

  #start(): void {
    clearTimeout(this.#timer);
    clearTimeout(this.#retry);
    this.#timer = undefined;
    this.#retry = undefined;
    const { write, failure, log } = this.#options;
    this.#writing = this.#writing.then(write).catch((error: unknown) => {
      log.warn({ error: messageOf(error) }, failure);
      this.#retry ??= setTimeout(() => this.#start(), RETRY_MS).unref(); // the process may end before
    });
  }
}
