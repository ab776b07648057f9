/** A write that happens in the background, some time after it was requested. */
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";

interface BackgroundWriteOptions {
  /** Requests within this time cause one write. */
  readonly delayMs: number;
  readonly write: () => Promise<void>;
  /** Logged when a write fails. The next request retries it. */
  readonly failure: string;
  readonly log: Logger;
}

/** Gathers requests and writes once for all of them, never twice at the same time. */
export class BackgroundWrite {
  readonly #options: BackgroundWriteOptions;
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> = Promise.resolve();

  constructor(options: BackgroundWriteOptions) {
    this.#options = options;
  }

  /** Requests a write and returns at once. Never fails. */
  request(): void {
    this.#timer ??= setTimeout(() => this.#start(), this.#options.delayMs);
  }

  /** Performs a requested write now, and waits for it. */
  async stop(): Promise<void> {
    if (this.#timer) this.#start();
    await this.#writing;
  }

  #start(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { write, failure, log } = this.#options;
    this.#writing = this.#writing.then(write).catch((error: unknown) => log.warn({ error: messageOf(error) }, failure));
  }
}
