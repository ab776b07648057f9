/** The engine's working folder: created for one process, and useless after it. */
import { lstat, mkdtemp, readdir, rm } from "node:fs/promises";
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
    if (!(await isOurs(folder))) return;
    endPlugins(folder);
    await rm(folder, { recursive: true, force: true });
  } catch {
    // It has been removed meanwhile, or contains files of another user. It does no harm.
  }
}

/** Whether we created a folder: other users may write to the parent, and could choose what is killed and removed. */
async function isOurs(folder: string): Promise<boolean> {
  const found = await lstat(folder);
  return found.isDirectory() && found.uid === process.getuid?.() && (found.mode & 0o777) === 0o700;
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

/** Whether a process exists. True also for other users' processes, which we may not signal. */
export function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}
