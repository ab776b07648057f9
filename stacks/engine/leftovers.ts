/** Kills plugin processes that outlive their engine. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Kills the plugins of the engine that works in a folder. The command line puts each plugin into its own process group,
 * so killing the worker's group misses them; they are identified by their path, which lies below the folder. On systems
 * without /proc they exit by themselves some minutes after their engine.
 */
export function endPlugins(directory: string): void {
  const path = join(directory, "home", "plugins");
  endProcesses((read) => read("cmdline").startsWith(path));
}

/** Kills all processes that match. `read` returns a file below /proc/PID, such as `cmdline`. */
export function endProcesses(isMatch: (read: (name: string) => string) => boolean): void {
  for (const pid of processIds()) {
    try {
      if (isMatch((name) => readFileSync(`/proc/${pid}/${name}`, "utf8"))) process.kill(pid, "SIGKILL");
    } catch {
      // The process has exited meanwhile, or belongs to another user.
    }
  }
}

function processIds(): readonly number[] {
  try {
    return readdirSync("/proc").map(Number).filter(Number.isInteger);
  } catch {
    return [];
  }
}
