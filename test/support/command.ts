/** Runs a command of the program, and returns its output and exit code. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { COMPILE_CACHE, QUICK } from "./controller-process.ts";
import type { World } from "./world.ts";

const MAIN = fileURLToPath(new URL("../../controller/main.ts", import.meta.url));

export interface Ended {
  /** Null if a signal ended the command. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Variables that differ from an administrator's environment; undefined ones are removed. */
type Changes = Readonly<Record<string, string | undefined>>;

/** Starts a command with the rights of an administrator. `printed` is its output so far. */
export function startCommand(world: World, args: readonly string[], changes: Changes = {}) {
  return start(world, process.execPath, [...(world.isQuick ? QUICK : []), MAIN, ...args], changes);
}

/** Starts a command in a terminal of this size. Its standard input is what a user types. */
export function startInTerminal(world: World, args: readonly string[], size: string) {
  return start(world, "script", [
    "-qec",
    `stty ${size}; exec ${process.execPath} ${MAIN} ${args.join(" ")}`,
    "/dev/null",
  ]);
}

function start(world: World, program: string, args: readonly string[], changes: Changes = {}) {
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      KUBECONFIG: world.cluster.kubeconfig,
      HCLOUD_TOKEN: world.cloud.token,
      HCLOUD_ENDPOINT: world.cloud.url,
      HCLOUD_NETWORK: String(world.networkId),
      // Leftovers of a killed command are deleted with the cluster's folder.
      TMPDIR: world.cluster.dir,
      ...changes,
    },
  });
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
    });
  }
  child.stdin.on("error", () => {}); // it may exit before it reads its input
  const ended: Promise<Ended> = once(child, "close").then(([code]) => ({ code: code as number | null, ...printed }));
  return { child, printed, ended };
}

export function runCommand(world: World, args: readonly string[], changes: Changes = {}): Promise<Ended> {
  return startCommand(world, args, changes).ended;
}
