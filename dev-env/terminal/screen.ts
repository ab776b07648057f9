/** Progress for a person: a line for each finished step, and a regular sign of life for what is under way. */
import { WriteStream } from "node:tty";
import { type Paint, paintFor, plain } from "../../controller/diagnostics/paint.ts";

/** One printed line: a topic for the left column, and a text that names its object. */
export interface Line {
  readonly topic: string;
  readonly text: string;
  readonly isProblem?: boolean;
}

/** Where lines are printed. */
interface Output {
  write(text: string): unknown;
}

/** Widths of the columns. */
const COLUMNS = { time: 8, topic: 10 };
const ALIVE_MS = 10_000;

/** Lines that begin with the time since the start and a topic, in columns. A terminal gets coloured topics. */
export class Screen {
  readonly #output: Output;
  readonly #columns: typeof COLUMNS;
  readonly #paint: Paint;
  readonly #startedMs = performance.now();

  constructor(output: Output, columns = COLUMNS, paint = output instanceof WriteStream ? paintFor(output) : plain) {
    this.#output = output;
    this.#columns = columns;
    this.#paint = paint;
  }

  /** The time since the start, such as `6.1 s`. */
  readonly elapsed = (): string => `${((performance.now() - this.#startedMs) / 1000).toFixed(1)} s`;

  /** Writes a line. */
  readonly say = (topic: string, text: string): void => this.show({ topic, text });

  /** Writes a line, in the colour of a problem if it is one. */
  readonly show = ({ topic, text, isProblem }: Line): void => {
    const colour = isProblem ? "yellow" : topic === "ready" ? "green" : "cyan";
    const label = this.#paint(topic.padEnd(this.#columns.topic), colour);
    this.write(`${this.elapsed().padStart(this.#columns.time)}  ${label} ${text}\n`);
  };

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
