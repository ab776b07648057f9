/** The suites for accounts and clusters (test/account) as processes. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { COMPILE_CACHE } from "./controller-process.ts";

export interface SuiteProcess {
  readonly child: ChildProcess;
  /** Output so far, of both streams. */
  output(): string;
  /** The exit code; null after a signal. */
  readonly ended: Promise<number | null>;
}

const PROGRAMS = {
  account: fileURLToPath(new URL("../account/main.ts", import.meta.url)),
  cluster: fileURLToPath(new URL("../account/cluster.ts", import.meta.url)),
};

/** Starts a suite, without a terminal. Undefined variables are removed from its environment. */
export function startSuite(
  program: keyof typeof PROGRAMS,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): SuiteProcess {
  const child = spawn(process.execPath, [PROGRAMS[program], ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
  });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const ended = once(child, "close").then(([code]) => code as number | null);
  return { child, output: () => output, ended };
}
