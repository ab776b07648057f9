/** Repeats an operation until a signal stops it. */
import { setTimeout as delay } from "node:timers/promises";

/**
 * Runs `work` repeatedly, with a pause of `periodMs` before each run, until the signal is aborted. Failures are
 * ignored, because the next run follows. Resolves after the last run has ended, and leaves no timer behind.
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
