/** The provider plugin, started ahead of the run, because the command line would start it only in the middle of one. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { killChild } from "./leftovers.ts";

/** A plugin that has not printed its port after this time is not used. */
const START_MS = 10_000;

/** The plugin of one run, started with that run's credential. */
export class WarmPlugin implements Disposable {
  readonly #child: ChildProcess;
  readonly #port: Promise<string>;
  /** Resolves when the plugin has ended. */
  readonly ended: Promise<void>;

  /** Starts the plugin. */
  constructor(path: string, env: Record<string, string>) {
    const child = spawn(path, [], { env, stdio: ["ignore", "pipe", "ignore"] });
    this.#child = child;
    this.ended = new Promise((resolve) => child.on("error", () => resolve()).on("exit", () => resolve()));
    // The first line of its output is the port it listens on. A process without file descriptors left has no output.
    const { stdout } = this.#child;
    const line = stdout ? once(createInterface({ input: stdout }), "line") : this.ended.then(() => [""]);
    const port = line.then(([text]) => String(text).trim());
    this.#port = Promise.race([port, this.ended.then(() => ""), setTimeout(START_MS, "", { ref: false })]);
  }

  /** Variables that make the command line use this plugin; none if it has ended: then it starts its own. */
  async environment(): Promise<Record<string, string>> {
    const port = await this.#port;
    return /^\d+$/.test(port) ? { PULUMI_DEBUG_PROVIDERS: `hcloud:${port}` } : {};
  }

  [Symbol.dispose](): void {
    killChild(this.#child, "SIGKILL");
  }
}
