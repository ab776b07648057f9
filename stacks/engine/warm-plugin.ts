/** The provider's plugin, started before the run that will use it: the command line would start it in the middle of one. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

/** One that has said nothing after this time is done without. */
const START_MS = 10_000;

/** A plugin for one run. It has that run's credential from its start, and ends with it. */
export class WarmPlugin {
  readonly #child: ChildProcess;
  readonly #port: Promise<string>;

  constructor(path: string, environment: Record<string, string>) {
    const child = spawn(path, [], { env: environment, stdio: ["ignore", "pipe", "ignore"] });
    this.#child = child;
    // The first line it writes is the port it listens on.
    const line = once(createInterface({ input: child.stdout }), "line").then(([text]) => String(text).trim());
    const ended = new Promise<string>((resolve) => child.on("error", () => resolve("")).on("exit", () => resolve("")));
    this.#port = Promise.race([line, ended, setTimeout(START_MS, "", { ref: false })]);
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** What tells the command line to use it; nothing when it has ended, so that the command line starts its own. */
  async environment(): Promise<Record<string, string>> {
    const port = await this.#port;
    return /^\d+$/.test(port) && this.isRunning ? { PULUMI_DEBUG_PROVIDERS: `hcloud:${port}` } : {};
  }

  stop(): void {
    this.#child.kill("SIGKILL");
  }
}
