/** Progress for a person: a line for each finished step, and a regular sign of life for what is under way. */

const ALIVE_MS = 10_000;

export class Screen {
  readonly #output: { write(text: string): unknown };
  readonly #startedMs = performance.now();

  constructor(output: { write(text: string): unknown }) {
    this.#output = output;
  }

  /** Writes a line that begins with the time since the start. */
  say(topic: string, text: string): void {
    const seconds = ((performance.now() - this.#startedMs) / 1000).toFixed(1);
    this.write(`${seconds.padStart(6)} s  ${topic.padEnd(10)} ${text}\n`);
  }

  /** Writes text as it is. */
  write(text: string): void {
    this.#output.write(text);
  }

  /** Says what begins, and repeats it with the last detail while it is under way. */
  async during<T>(topic: string, text: string, work: (update: (detail: string) => void) => Promise<T>): Promise<T> {
    let detail = "";
    this.say(topic, `${text} …`);
    const timer = setInterval(() => this.say(topic, `${text}${detail && `: ${detail}`} …`), ALIVE_MS);
    try {
      return await work((given) => {
        detail = given;
      });
    } finally {
      clearInterval(timer);
    }
  }
}
