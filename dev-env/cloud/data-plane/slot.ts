/** Reserves a range of loopback addresses for one cloud. */
import { createServer, type Server } from "node:net";
import { closeServer } from "../../cluster/loopback.ts";

/** Loopback has no address of this slot. Only Linux has all of 127.0.0.0/8; macOS has 127.0.0.1 alone. */
export class LoopbackRangeError extends Error {
  override readonly name = "LoopbackRangeError";
  readonly slot: number;

  constructor(slot: number, cause: unknown) {
    super(`data plane: cannot listen on 127.${slot}.0.1: this system does not have all of 127.0.0.0/8 on loopback`, {
      cause,
    });
    this.slot = slot;
  }
}

const FIRST = 16;
const LAST = 247;
/** Listening on this port reserves the slot; the operating system releases it when the process dies. */
const LOCK_PORT = 47_999;

/** Reserves the first free range `127.<slot>.0.0/16`, so that clouds in different processes never share an address. */
export async function acquireSlot() {
  for (let slot = FIRST; slot <= LAST; slot += 1) {
    const lock = await tryLock(slot);
    if (lock) return { slot, release: () => closeServer(lock) };
  }
  throw new Error("data plane: all loopback ranges 127.16 to 127.247 are in use");
}

async function tryLock(slot: number): Promise<Server | undefined> {
  const lock = createServer();
  return new Promise((resolve, reject) => {
    lock.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE") return resolve(undefined);
      reject(new LoopbackRangeError(slot, error));
    });
    lock.listen(LOCK_PORT, `127.${slot}.0.1`, () => resolve(lock.unref()));
  });
}
