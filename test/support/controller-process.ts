/** The real controller as a process, with its log. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

const MAIN = fileURLToPath(new URL("../../controller/main.ts", import.meta.url));
/** The same after `npm run build`. */
export const BUILT_MAIN = fileURLToPath(new URL("../../dist/controller/main.js", import.meta.url));
/** Node's compile cache, which saves stripping the types again: a test run starts dozens of processes. */
export const COMPILE_CACHE = fileURLToPath(new URL("../../.lotse/compile-cache", import.meta.url));

/** Flags of Node in the image that affect measurements. */
export const NODE_FLAGS = [
  "--max-semi-space-size=1",
  "--optimize-for-size",
  "--no-sparkplug",
  "--invocation-count-for-maglev=10000",
  "--invocation-count-for-maglev-osr=5000",
  "--invocation-count-for-turbofan=100000",
];

/** Shortens the waits of the process. */
export const QUICK = ["--import", fileURLToPath(new URL("quick.ts", import.meta.url))];

export interface ControllerOptions {
  /** Whether leases, watches, retries and absences take a third of the time in production. */
  readonly isQuick?: boolean;
  /** Whether to run the compiled program, as in the image. Requires `npm run build`. */
  readonly isBuilt?: boolean;
  readonly flags: readonly string[];
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** One record of the log. */
export interface LogRecord {
  readonly msg: string;
  readonly level: number;
  readonly [field: string]: unknown;
}

export class ControllerProcess {
  readonly #child: ChildProcess;
  readonly #lines: string[] = [];
  readonly ended: Promise<number | null>;

  constructor({ flags, env, isQuick = false, isBuilt = false }: ControllerOptions) {
    const { PATH = "", HOME = "", XDG_CACHE_HOME } = process.env;
    const program = isBuilt ? [BUILT_MAIN] : [...(isQuick ? QUICK : []), MAIN];
    const cache = isBuilt ? {} : { NODE_COMPILE_CACHE: COMPILE_CACHE };
    this.#child = spawn(process.execPath, [...NODE_FLAGS, ...program, "run", "--logging-format=json", ...flags], {
      stdio: ["ignore", "pipe", "pipe"],
      env: { PATH, HOME, ...cache, ...(XDG_CACHE_HOME && { XDG_CACHE_HOME }), ...env },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      if (stream) createInterface({ input: stream }).on("line", (line) => this.#lines.push(line));
    }
    this.ended = once(this.#child, "close").then(([code]) => code as number | null);
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  /** Output so far. */
  get output(): string {
    return this.#lines.join("\n");
  }

  /** The last lines of output, for messages of failed tests. */
  tail(lines = 40): string {
    return this.#lines.slice(-lines).join("\n");
  }

  records(message?: string): readonly LogRecord[] {
    const records = this.#lines.filter((line) => line.startsWith("{")).map((line) => JSON.parse(line) as LogRecord);
    return message === undefined ? records : records.filter(({ msg }) => msg === message);
  }

  signal(name: NodeJS.Signals): void {
    this.#child.kill(name);
  }

  async stop(): Promise<void> {
    this.#child.kill("SIGTERM");
    await this.ended;
  }
}
