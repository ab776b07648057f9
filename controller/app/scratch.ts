/** The engine's folder: made for one process, and worth nothing after it. */
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import { endPlugins } from "../../stacks/engine/leftovers.ts";

/** Processes are told apart by host too: several may share a folder, and in containers all of them are number 1. */
const PREFIX = `lotse-${hostname()}-`;

/** What this process has made. */
const mine = new Set<string>();

/** A new folder for this process. Removes those of processes that were killed before they could. */
export async function makeScratch(parent = tmpdir()): Promise<string> {
  for (const folder of await abandoned(parent)) await discard(folder);
  // The name says whose it is from the first moment: a note inside could come too late.
  const folder = await mkdtemp(join(parent, `${PREFIX}${process.pid}-`));
  mine.add(folder);
  return folder;
}

async function discard(folder: string): Promise<void> {
  try {
    endPlugins(folder);
    await rm(folder, { recursive: true, force: true });
  } catch {
    // Another user's, who may remove it; it is in nobody's way.
  }
}

/** Folders of processes that are no more. One with our own number, but not made by us, is older than we are. */
async function abandoned(parent: string): Promise<readonly string[]> {
  const names = await readdir(parent);
  const isAbandoned = (name: string) => {
    const pid = name.startsWith(PREFIX) ? /^(\d+)-\w{6}$/.exec(name.slice(PREFIX.length))?.[1] : undefined;
    return pid !== undefined && (Number(pid) === process.pid || !isAlive(Number(pid)));
  };
  const folders = names.filter(isAbandoned).map((name) => join(parent, name));
  return folders.filter((folder) => !mine.has(folder));
}

/** True also for processes of others, which may not be signalled. */
function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return !(error instanceof Error && "code" in error && error.code === "ESRCH");
  }
}
