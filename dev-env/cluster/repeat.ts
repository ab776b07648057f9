/** Repeats an operation, until a signal stops it or until it succeeds. */
import { setTimeout as delay } from "node:timers/promises";
import { messageOf } from "../../controller/diagnostics/errors.ts";

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

/** How long and how often to retry. */
export interface Patience {
  readonly deadlineMs: number;
  readonly intervalMs: number;
  /** Ends the retries. */
  readonly signal?: AbortSignal;
  /** Receives the first line of each failure that another attempt follows. */
  readonly onWait?: (reason: string) => void;
  /** Failures that another attempt cannot change. */
  readonly isFinal?: (error: unknown) => boolean;
  /** Begins the message at the deadline, such as `no kubeconfig`. Absent means that the last failure is thrown as it is. */
  readonly what?: string;
}

/** An operation did not succeed in time. */
export class DeadlineError extends Error {
  override readonly name = "DeadlineError";
}

/** Runs `work` until it succeeds. Rejects at the deadline, after a final failure, and when the signal fires. */
export async function retry<T>(work: () => T | Promise<T>, patience: Patience): Promise<T> {
  const { deadlineMs, intervalMs, signal, onWait, isFinal, what } = patience;
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      signal?.throwIfAborted();
      const reason = messageOf(error);
      const isLate = performance.now() >= deadline;
      if (isFinal?.(error) || (isLate && what === undefined)) throw error;
      if (isLate)
        throw new DeadlineError(`${what} after ${Math.round(deadlineMs / 1000)} s: ${reason}`, { cause: error });
      onWait?.(reason.split("\n", 1)[0] ?? "");
    }
    await delay(intervalMs, undefined, signal && { signal });
  }
}
