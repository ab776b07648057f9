/** The provider's plugin, started before the run that will use it: the command line would start it in the middle of one. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/** A plugin for one run. It has that run's credential from its start, and ends with it. */
export class WarmPlugin {
  /** The credential that it was started with. */
  readonly token: string;
  readonly #child: ChildProcess;
  readonly #port: Promise<string>;

  constructor(path: string, token: string, environment: Record<string, string>) {
    this.token = token;
    const child = spawn(path, [], { env: environment, stdio: ["ignore", "pipe", "ignore"] });
    this.#child = child;
    // The first line it writes is the port it listens on.
    const line = once(createInterface({ input: child.stdout }), "line").then(([text]) => String(text).trim());
    const ended = new Promise<string>((resolve) => child.on("error", () => resolve("")).on("exit", () => resolve("")));
    this.#port = Promise.race([line, ended]);
  }

  /** What tells the command line to use it; nothing when it has ended, so that the command line starts its own. */
  async environment(): Promise<Record<string, string>> {
    const port = await this.#port;
    const isRunning = this.#child.exitCode === null && this.#child.signalCode === null;
    return /^\d+$/.test(port) && isRunning ? { PULUMI_DEBUG_PROVIDERS: `hcloud:${port}` } : {};
  }

  stop(): void {
    this.#child.kill("SIGKILL");
  }
}
