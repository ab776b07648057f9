/** Ends processes that outlive the engine they were started for. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Ends the plugins of the engine that works in a folder. The command line gives each a process group of its own, so they
 * do not end with the others; but they run from a path below the folder, which no other process does. Where the kernel
 * has no tables to look at, they end by themselves some minutes after their engine.
 */
export function endPlugins(directory: string): void {
  const path = join(directory, "home", "plugins");
  endProcesses((table) => table("cmdline").startsWith(path));
}

/** Ends the processes that match, judged by the kernel's tables of each, such as `cmdline`. */
export function endProcesses(isMeant: (table: (name: string) => string) => boolean): void {
  for (const pid of processIds()) {
    try {
      if (isMeant((name) => readFileSync(`/proc/${pid}/${name}`, "utf8"))) process.kill(pid, "SIGKILL");
    } catch {
      // Ended between two looks, as it should, or another user's.
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
