/** Access to the machine, behind an interface that tests replace. */
import { execFile } from "node:child_process";

/** How a program ended, with the output of both streams; if it did not start, the output is the reason. */
export interface RunResult {
  readonly kind: "ok" | "failed" | "not-started";
  readonly output: string;
}

/** Everything the toolchain needs from the machine, except its file system. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Operating system and architecture, e.g. "linux-x64". */
  readonly platform: string;
  /** Runs a program to completion, with `env` added to the environment. Never rejects. */
  run(command: string, args: readonly string[], env?: Readonly<Record<string, string>>): Promise<RunResult>;
}

const maxOutputBytes = 1 << 26;

/** This machine. */
export const thisHost: Host = {
  env: process.env,
  platform: `${process.platform}-${process.arch}`,
  run: (command, args, env = {}) =>
    new Promise((resolve) => {
      const options = { env: { ...process.env, ...env }, maxBuffer: maxOutputBytes };
      execFile(command, args, options, (error, stdout, stderr) => {
        if (typeof error?.code === "string") resolve({ kind: "not-started", output: error.message });
        else resolve({ kind: error ? "failed" : "ok", output: stdout + stderr });
      });
    }),
};
