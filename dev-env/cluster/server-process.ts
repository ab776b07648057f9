/** A server process that can be started, killed and paused. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { open, readFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import type { Watchdog } from "./watchdog.ts";

const pollMs = 25;
const logTailLines = 12;

/** How to run one server. */
export interface ServerOptions {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly dir: string;
  /** File to which both output streams are appended. */
  readonly logFile: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Whether the server is ready. Polled after each start; absent means that it is ready at once. */
  readonly isReady?: () => Promise<boolean>;
  /** By default 30 s. */
  readonly readyTimeoutMs?: number;
  /** Kills the server when this process dies. */
  readonly watchdog?: Watchdog;
}

/** The server did not start. Includes the end of its log. */
export class ServerStartError extends Error {
  override readonly name = "ServerStartError";
  readonly logTail: string;

  constructor(server: string, what: string, logTail: string) {
    super(`${server} ${what}. The end of its log:\n${logTail}`);
    this.logTail = logTail;
  }
}

/** A server process that can be killed, paused and restarted. */
export class ServerProcess {
  readonly #options: ServerOptions;
  #child: ChildProcess | undefined;

  constructor(options: ServerOptions) {
    this.#options = options;
  }

  /** The process id, while the server runs. */
  get pid(): number | undefined {
    return this.#child?.pid;
  }

  /** Starts the server and waits until it is ready. Does nothing if it is running. */
  async start(): Promise<void> {
    if (this.#child) return;
    const { name, readyTimeoutMs = 30_000, isReady = async () => true } = this.#options;
    const child = await this.#spawn();
    const deadline = performance.now() + readyTimeoutMs;
    while (!(await isReady())) {
      if (this.#child !== child) {
        const how = child.signalCode ?? `code ${child.exitCode}`;
        throw new ServerStartError(name, `exited with ${how} before it was ready`, await this.#logTail());
      }
      if (performance.now() > deadline) {
        const logTail = await this.#logTail();
        await this.kill();
        throw new ServerStartError(name, `was not ready after ${readyTimeoutMs / 1000} s`, logTail);
      }
      await delay(pollMs);
    }
  }

  /** Kills the server and waits until it has exited. Its files are kept. */
  async kill(): Promise<void> {
    const child = this.#child;
    if (!child) return;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  }

  /** Suspends the server: connections stay open, but get no response. */
  pause(): void {
    this.#child?.kill("SIGSTOP");
  }

  /** Resumes the server after `pause`. */
  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  async #spawn(): Promise<ChildProcess> {
    const { command, args, dir, env, logFile, watchdog } = this.#options;
    const log = await open(logFile, "a", 0o600);
    try {
      // In its own process group, so that Ctrl-C reaches only this process, which stops servers in order.
      const child = spawn(command, args, {
        cwd: dir,
        env: { ...process.env, ...env },
        stdio: ["ignore", log.fd, log.fd],
        detached: true,
      });
      await once(child, "spawn");
      const { pid = 0 } = child;
      this.#child = child;
      watchdog?.watch(pid);
      child.once("exit", () => {
        this.#child = undefined;
        watchdog?.forget(pid);
      });
      return child;
    } finally {
      await log.close();
    }
  }

  async #logTail(): Promise<string> {
    const log = await readFile(this.#options.logFile, "utf8");
    return log.trimEnd().split("\n").slice(-logTailLines).join("\n");
  }
}
