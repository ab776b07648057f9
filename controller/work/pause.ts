import { setTimeout } from "node:timers/promises";

/** Waits, but not beyond the signal. An abort is not a failure: the caller looks at the signal. */
export async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {});
}
