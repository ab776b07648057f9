/** The provider plugin, started ahead of the run, because the command line would start it only in the middle of one. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";

/** A plugin that has not printed its port after this time is not used. */
const START_MS = 10_000;

/** The plugin of one run, started with that run's credential. */
export class WarmPlugin {
  readonly #child: ChildProcess;
  readonly #port: Promise<string>;

  /** Starts the plugin. Aborting the signal kills it. */
  constructor(path: string, env: Record<string, string>, signal: AbortSignal) {
    const child = spawn(path, [], { env, signal, killSignal: "SIGKILL", stdio: ["ignore", "pipe", "ignore"] });
    this.#child = child;
    // The first line of its output is the port it listens on.
    const line = once(createInterface({ input: child.stdout }), "line").then(([text]) => String(text).trim());
    const ended = new Promise<string>((resolve) => child.on("error", () => resolve("")).on("exit", () => resolve("")));
    this.#port = Promise.race([line, ended, setTimeout(START_MS, "", { ref: false })]);
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** Variables that make the command line use this plugin; none if it has ended: then it starts its own. */
  async environment(): Promise<Record<string, string>> {
    const port = await this.#port;
    return /^\d+$/.test(port) && this.isRunning ? { PULUMI_DEBUG_PROVIDERS: `hcloud:${port}` } : {};
  }
}
