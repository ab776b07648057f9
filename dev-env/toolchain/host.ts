import { spawn } from "node:child_process";

/** How a process ended. `output` is what it wrote to both streams, from the end if that was very much. */
export type RunResult =
  | { readonly kind: "exited"; readonly code: number | null; readonly output: string }
  | { readonly kind: "timed-out"; readonly output: string }
  | { readonly kind: "not-started"; readonly reason: string };

/** Settings of one process. */
export interface RunOptions {
  readonly timeoutMs: number;
  /** Added to the environment. */
  readonly env?: Readonly<Record<string, string>>;
}

/** The machine as the toolchain sees it, besides its file system. Tests put a made-up one here. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Operating system and processor, e.g. "linux-x64". */
  readonly platform: string;
  /** Runs a program to its end or to the time limit, when it and its descendants are killed. Never rejects. */
  run(command: string, args: readonly string[], options: RunOptions): Promise<RunResult>;
  /** Why a page cannot be fetched, or undefined when it can. */
  whyUnreachable(url: string): Promise<string | undefined>;
}

const maxOutputLength = 1 << 20;
const reachTimeoutMs = 3_000;

/** This machine. */
export const thisHost: Host = {
  env: process.env,
  platform: `${process.platform}-${process.arch}`,
  run: runProcess,
  async whyUnreachable(url) {
    try {
      const response = await fetch(url, { method: "HEAD", signal: AbortSignal.timeout(reachTimeoutMs) });
      return response.ok ? undefined : `status ${response.status}`;
    } catch (error) {
      return reasonOf(error);
    }
  },
};

function runProcess(command: string, args: readonly string[], options: RunOptions): Promise<RunResult> {
  return new Promise((resolve) => {
    // A process group of its own, so that a time limit also ends what the program has started.
    const child = spawn(command, args, {
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...options.env },
      detached: true,
    });
    let output = "";
    let isOverdue = false;
    const collect = (chunk: Buffer) => {
      output = (output + chunk.toString()).slice(-maxOutputLength);
    };
    child.stdout.on("data", collect);
    child.stderr.on("data", collect);

    const kill = () => killGroup(child.pid);
    const timer = setTimeout(() => {
      isOverdue = true;
      kill();
    }, options.timeoutMs);
    const forget = onEnding(kill);

    const settle = (result: RunResult) => {
      clearTimeout(timer);
      forget();
      resolve(result);
    };
    child.once("error", (error) => settle({ kind: "not-started", reason: reasonOf(error) }));
    child.once("close", (code) => settle(isOverdue ? { kind: "timed-out", output } : { kind: "exited", code, output }));
  });
}

/**
 * Calls back when this process is about to end, also by a signal that nobody else handles. Needed because a process
 * group of its own does not get the Ctrl-C of the terminal. Returns how to take it back.
 */
function onEnding(callback: () => void): () => void {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  const onSignal = (signal: NodeJS.Signals) => {
    callback();
    forget();
    if (process.listenerCount(signal) === 0) process.kill(process.pid, signal);
  };
  const forget = () => {
    process.off("exit", callback);
    for (const signal of signals) process.off(signal, onSignal);
  };
  process.once("exit", callback);
  for (const signal of signals) process.on(signal, onSignal);
  return forget;
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // The group has ended by itself, which is what was wanted.
  }
}

/** The innermost message of an error: `fetch failed` alone helps nobody. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}
