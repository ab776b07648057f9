/** Ends processes that outlive their engine. */
import type { ChildProcess } from "node:child_process";
import { readdirSync, readFileSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";

/**
 * Signals a child process, if it was started. Of one that could not be started, Node does not know the id, and until it has
 * reported the error, it sends the signal to a random one. That may be 0, which is our own process group.
 */
export function killChild(child: ChildProcess, signal: NodeJS.Signals): void {
  if (child.pid !== undefined) child.kill(signal);
}

/**
 * Kills the plugins of the engine that works in a folder. The command line puts each plugin into its own process group,
 * so killing the worker's group misses them; they are identified by their path, which lies below the folder. On systems
 * without /proc they exit by themselves some minutes after their engine.
 */
export function endPlugins(directory: string): void {
  const path = join(directory, "home", "plugins", "/");
  signalProcesses((read) => read("cmdline").startsWith(path), "SIGKILL");
}

/**
 * Ends what an earlier run of a stored stack left behind, found by a variable of its environment. The command line is
 * interrupted first, so that it finishes requests in flight and stores its state; after `graceMs` everything is killed.
 */
export async function endRun(variable: string, graceMs: number): Promise<void> {
  const isOfRun = (read: ReadFile) => read("environ").split("\0").includes(variable);
  const isItsCommandLine = (read: ReadFile) => isOfRun(read) && isPulumi(read);
  const deadline = performance.now() + graceMs;
  signalProcesses(isItsCommandLine, "SIGINT");
  while (signalProcesses(isItsCommandLine, 0) > 0 && performance.now() < deadline) await delay(100);
  signalProcesses(isOfRun, "SIGKILL");
}

/** Returns a file below /proc/PID, such as `cmdline`. */
type ReadFile = (name: string) => string;

const isPulumi = (read: ReadFile) => basename(read("cmdline").split("\0", 1)[0] ?? "") === "pulumi";

/** Whether a process is a command line of Pulumi that works; always false on systems without /proc. */
export function isCommandLine(pid: number): boolean {
  try {
    return isPulumi((name) => readFileSync(`/proc/${pid}/${name}`, "utf8"));
  } catch {
    return false; // it has exited
  }
}

/** Sends a signal to all our processes that match, 0 for none. Returns their number. */
function signalProcesses(isMatch: (read: ReadFile) => boolean, signal: NodeJS.Signals | 0): number {
  let count = 0;
  for (const pid of processIds()) {
    try {
      if (statSync(`/proc/${pid}`).uid !== process.getuid?.()) continue;
      if (!isMatch((name) => readFileSync(`/proc/${pid}/${name}`, "utf8"))) continue;
      process.kill(pid, signal);
      count++;
    } catch {
      // The process has exited meanwhile, or belongs to another user.
    }
  }
  return count;
}

function processIds(): readonly number[] {
  try {
    return readdirSync("/proc")
      .map(Number)
      .filter((pid) => Number.isInteger(pid) && pid > 1);
  } catch {
    return [];
  }
}
