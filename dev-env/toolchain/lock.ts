/** A lock between processes that cannot become stale. */
import { mkdirSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

const sqliteBusy = 5;
const pollMs = 200;

/** How to wait for a lock. */
export interface Waiting {
  /** Called once if another process or caller holds the lock. */
  readonly onWait?: () => void;
  /** Ends the wait. */
  readonly signal?: AbortSignal;
}

/**
 * Runs `work` while holding the lock on the file, whose folder it creates.
 *
 * It is SQLite's lock on an empty database, and thus a lock of the operating system, which releases it when its holder
 * exits, even after SIGKILL. There are no stale locks to detect. SQLite also separates callers within one process.
 */
export async function withLock<T>(file: string, work: () => Promise<T>, waiting: Waiting = {}): Promise<T> {
  const { onWait, signal } = waiting;
  mkdirSync(dirname(file), { recursive: true });
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    for (let hasWaited = false; !tryLock(database); hasWaited = true) {
      if (!hasWaited) onWait?.();
      await delay(pollMs, undefined, signal && { signal });
    }
    return await work();
  } finally {
    database.close();
  }
}

function tryLock(database: DatabaseSync): boolean {
  try {
    database.exec("BEGIN EXCLUSIVE");
    return true;
  } catch (error) {
    if (error instanceof Error && "errcode" in error && error.errcode === sqliteBusy) return false;
    throw error;
  }
}
