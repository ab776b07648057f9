/** The engine's working folder: created for one process, and useless after it. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { endPlugins } from "../../stacks/engine/leftovers.ts";

/** The host name is part of it: containers may share a temporary folder, and their process is always number 1. */
const PREFIX = `lotse-${hostname()}-`;

/** Folders that this process created. */
const mine = new Set<string>();

/** A new folder for this process. Removes the folders of processes that were killed before they could clean up. */
export async function makeScratch(parent = tmpdir()): Promise<string> {
  for (const folder of await abandoned(parent)) await discard(folder);
  // The owner is part of the name: a file inside could be missing if the process is killed at once.
  const folder = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`));
  mine.add(folder);
  return folder;
}

async function discard(folder: string): Promise<void> {
  try {
    endPlugins(folder);
    await rm(folder, { recursive: true, force: true });
  } catch {
    // Probably another user's folder. It does no harm.
  }
}

/** Folders of processes that no longer exist. One with our own process ID that we did not create is from an earlier process. */
async function abandoned(parent: string): Promise<readonly string[]> {
  const names = await readdir(parent);
  const isAbandoned = (name: string) => {
    const pid = name.startsWith(PREFIX) ? /^(\d+)-\w{6}$/.exec(name.slice(PREFIX.length))?.[1] : undefined;
    return pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid)));
  };
  const folders = names.filter(isAbandoned).map((name) => join(parent, name));
  return folders.filter((folder) => !mine.has(folder));
}

/** True also for other users' processes, which we may not signal. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}
