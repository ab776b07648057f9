import { createServer, type Server } from "node:net";

/** A /16 of loopback that belongs to one running cloud: `127.<slot>.0.0/16`. */
export interface Slot {
  readonly slot: number;
  release(): Promise<void>;
}

const FIRST = 16;
const LAST = 247;
/** Whoever listens here owns the slot; the system takes it back when the process dies. */
const LOCK_PORT = 47_999;

/** Takes the first free slot, so that clouds in any number of processes never share an address. */
export async function acquireSlot(): Promise<Slot> {
  for (let slot = FIRST; slot <= LAST; slot += 1) {
    const lock = await tryLock(slot);
    if (lock) return { slot, release: () => new Promise((resolve) => lock.close(() => resolve())) };
  }
  throw new Error("data plane: all loopback slots are taken");
}

async function tryLock(slot: number): Promise<Server | undefined> {
  const lock = createServer();
  return new Promise((resolve, reject) => {
    lock.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") return resolve(undefined);
      reject(
        new Error(`data plane: cannot listen on 127.${slot}.0.1; it needs a system with all of 127.0.0.0/8`, {
          cause: error,
        }),
      );
    });
    lock.listen(LOCK_PORT, `127.${slot}.0.1`, () => resolve(lock.unref()));
  });
}
