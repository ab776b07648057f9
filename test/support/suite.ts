/** The suites for accounts and clusters (test/account) as processes. */
import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";
import { COMPILE_CACHE } from "./controller-process.ts";
import { follow } from "./follow.ts";

export type SuiteProcess = ReturnType<typeof startSuite>;

const PROGRAMS = {
  account: fileURLToPath(new URL("../account/main.ts", import.meta.url)),
  cluster: fileURLToPath(new URL("../account/cluster.ts", import.meta.url)),
};

/** Starts a suite, without a terminal. Undefined variables are removed from its environment. */
export function startSuite(
  program: keyof typeof PROGRAMS,
  args: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
) {
  const child = spawn(process.execPath, [PROGRAMS[program], ...args], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
  });
  return { child, ...follow(child) };
}
