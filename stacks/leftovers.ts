/** What a killed controller may have left running: found by a note in the engine's folder, and ended before anything else starts. */
import { readdirSync, readFileSync } from "node:fs";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";

interface Note {
  /** Process group of worker, command line and plugins. */
  readonly group: number;
  /** When its leader started, in the kernel's words: a process id alone may belong to somebody else by now. */
  readonly startedAt: string;
}

const NOTE = "worker.json";

/** Notes the process group that is about to work in a folder. */
export async function noteWorker(directory: string, group: number): Promise<void> {
  const note: Note = { group, startedAt: (await startTime(group)) ?? "" };
  await writeFile(join(directory, NOTE), JSON.stringify(note));
}

/** Ends the group noted in a folder, if it is still the one that was noted. */
export async function endLeftovers(directory: string): Promise<void> {
  const file = join(directory, NOTE);
  const note = await readNote(file);
  if (note && note.startedAt !== "" && (await startTime(note.group)) === note.startedAt) {
    process.kill(-note.group, "SIGKILL");
  }
  endPlugins(directory);
  await rm(file, { force: true });
}

/**
 * Ends the plugins of the engine that works in a folder. The command line gives each a process group of its own, so they
 * do not end with the others; but they run from a path below the folder, which no other process does. Where the kernel
 * has no tables to look at, they end by themselves some minutes after their engine.
 */
export function endPlugins(directory: string): void {
  const path = join(directory, "home", "plugins");
  for (const pid of processIds()) {
    try {
      if (readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(path)) process.kill(pid, "SIGKILL");
    } catch {
      // Ended between two looks, as it should.
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

async function readNote(file: string): Promise<Note | undefined> {
  try {
    return JSON.parse(await readFile(file, "utf8")) as Note;
  } catch {
    return undefined; // none, or cut off by the crash: then nothing can be proven, and the gateway it knew is gone anyway
  }
}

/** Start time of a process from the kernel's tables; nothing where there are none, or when it has ended. */
async function startTime(pid: number): Promise<string | undefined> {
  try {
    const stat = await readFile(`/proc/${pid}/stat`, "utf8");
    // The name, in parentheses, may hold anything; the 20th field behind it is the start time.
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19];
  } catch {
    return undefined;
  }
}
