/** Waits for conditions in tests. */
import { retry } from "../../dev-env/cluster/repeat.ts";

/** Timeout and interval. */
export interface EventuallyOptions {
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
}

/** Calls `probe` until it no longer throws, and returns its value. At the deadline, throws the last error. */
export async function eventually<T>(probe: () => T | Promise<T>, options: EventuallyOptions = {}): Promise<T> {
  const { timeoutMs: deadlineMs = 30_000, intervalMs = 50 } = options;
  return retry(probe, { deadlineMs, intervalMs });
}
