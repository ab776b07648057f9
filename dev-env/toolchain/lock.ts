import { DatabaseSync } from "node:sqlite";
import { setTimeout as delay } from "node:timers/promises";

const sqliteBusy = 5;
const pollMs = 200;

/**
 * Runs `work` while no other process or caller on this machine holds the lock of that file. `onWait` is called once
 * when somebody else has it.
 *
 * The lock is SQLite's lock on an empty database, which is a lock of the operating system: it is gone the moment its
 * holder is, however it died, so there are no stale locks to detect. SQLite also keeps callers of one process apart.
 */
export async function withLock<T>(file: string, onWait: () => void, work: () => Promise<T>): Promise<T> {
  const database = new DatabaseSync(file, { timeout: 0 });
  try {
    for (let hasWaited = false; !tryLock(database); hasWaited = true) {
      if (!hasWaited) onWait();
      await delay(pollMs);
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
