/** The program as an operator calls it: one command, what it prints, and its exit code. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { COMPILE_CACHE, QUICK } from "./controller-process.ts";
import type { World } from "./world.ts";

const MAIN = fileURLToPath(new URL("../../controller/main.ts", import.meta.url));

export interface Ended {
  /** Null when a signal ended it. */
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunningCommand {
  readonly child: ChildProcessWithoutNullStreams;
  /** So far. */
  readonly printed: { readonly stdout: string; readonly stderr: string };
  readonly ended: Promise<Ended>;
}

/** Starts a command with the rights of an administrator of the world. */
export function startCommand(world: World, args: readonly string[]): RunningCommand {
  return start(world, process.execPath, [...(world.isQuick ? QUICK : []), MAIN, ...args]);
}

/** Starts a command in a terminal of this size; what is written to its standard input is typed there. */
export function startInTerminal(world: World, args: readonly string[], size: string): RunningCommand {
  return start(world, "script", [
    "-qec",
    `stty ${size}; exec ${process.execPath} ${MAIN} ${args.join(" ")}`,
    "/dev/null",
  ]);
}

function start(world: World, program: string, args: readonly string[]): RunningCommand {
  const child = spawn(program, args, {
    stdio: ["pipe", "pipe", "pipe"],
    env: {
      ...process.env,
      NODE_COMPILE_CACHE: COMPILE_CACHE,
      KUBECONFIG: world.cluster.kubeconfig,
      HCLOUD_TOKEN: world.cloud.token,
      HCLOUD_ENDPOINT: world.cloud.url,
      HCLOUD_NETWORK: String(world.networkId),
      // What a killed command leaves behind goes with the cluster's folder.
      TMPDIR: world.cluster.dir,
    },
  });
  const printed = { stdout: "", stderr: "" };
  for (const name of ["stdout", "stderr"] as const) {
    child[name].setEncoding("utf8").on("data", (text: string) => {
      printed[name] += text;
    });
  }
  child.stdin.on("error", () => {}); // it may end before it is spoken to
  const ended = once(child, "close").then(([code]) => ({ code: code as number | null, ...printed }));
  return { child, printed, ended };
}

export function runCommand(world: World, args: readonly string[]): Promise<Ended> {
  return startCommand(world, args).ended;
}
