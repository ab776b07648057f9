import { execFile } from "node:child_process";

/** How a program ended, and what it wrote to both streams, or why it did not start. */
export interface RunResult {
  readonly kind: "ok" | "failed" | "not-started";
  readonly output: string;
}

/** The machine as the toolchain sees it, besides its file system. Tests put a made-up one here. */
export interface Host {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Operating system and processor, e.g. "linux-x64". */
  readonly platform: string;
  /** Runs a program to its end, with `env` added to the environment. Never rejects. */
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
