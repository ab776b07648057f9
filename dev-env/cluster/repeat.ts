import { setTimeout as delay } from "node:timers/promises";

/**
 * Does `work` again and again, `periodMs` after the last time ended, until the signal says stop. Failures are ignored:
 * the next time comes anyway. Resolves after the last time has ended, and leaves no timer behind.
 */
export async function repeat(
  periodMs: number,
  work: (signal: AbortSignal) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const sleep = () => delay(periodMs, undefined, { signal, ref: false });
  while (!signal.aborted) {
    await sleep()
      .then(() => work(signal))
      .catch(() => {});
  }
}
