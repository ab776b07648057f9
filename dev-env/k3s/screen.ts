/** What a person sees while something goes on: a line for what is done, a live one for what is not. */

/** Where it is shown: a terminal gets one live line, anything else plain lines. */
export interface Output {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

const LIVE_MS = 500;
const PLAIN_MS = 10_000;
const ERASE = "\r\u001b[K";

export class Screen {
  readonly #output: Output;
  readonly #now: () => number;
  readonly #startedMs: number;

  constructor(output: Output, now: () => number = () => performance.now()) {
    this.#output = output;
    this.#now = now;
    this.#startedMs = now();
  }

  /** A line, with the time since the start in front. */
  say(topic: string, text: string): void {
    const label = this.#output.isTTY ? `\u001b[36m${topic.padEnd(10)}\u001b[0m` : topic.padEnd(10);
    this.#clear();
    this.#output.write(`${seconds(this.#now() - this.#startedMs).padStart(7)}  ${label} ${text}\n`);
  }

  /** Text as it is. */
  write(text: string): void {
    this.#clear();
    this.#output.write(text);
  }

  /**
   * Shows that something is under way for as long as it is: what, since when, and what `update` was told last. On no
   * terminal it says so every ten seconds.
   */
  async during<T>(topic: string, text: string, work: (update: (detail: string) => void) => Promise<T>): Promise<T> {
    const startedMs = this.#now();
    let detail = "";
    const tick = () => {
      const line = `${text}${detail && `: ${detail}`} … ${seconds(this.#now() - startedMs)}`;
      if (this.#output.isTTY) this.#output.write(`${ERASE}${" ".repeat(9)}${topic.padEnd(10)} ${line}`);
      else this.say(topic, line);
    };
    if (!this.#output.isTTY) this.say(topic, `${text} …`);
    const timer = setInterval(tick, this.#output.isTTY ? LIVE_MS : PLAIN_MS);
    try {
      return await work((told) => {
        detail = told;
      });
    } finally {
      clearInterval(timer);
      this.#clear();
    }
  }

  #clear(): void {
    if (this.#output.isTTY) this.#output.write(ERASE);
  }
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}
