/** Time as a parameter: code that sleeps or reads the time takes a clock, which tests replace. */
import { setTimeout } from "node:timers/promises";

export interface Clock {
  /** Monotonic milliseconds, for durations. May stand still while the machine is suspended. */
  readonly now: () => number;
  /** Milliseconds since 1970. Can be set, so it may jump. */
  readonly wallTime: () => number;
  /** Waits, at most until the signal fires. An abort is not a failure: the caller checks the signal. */
  readonly pause: (ms: number, signal?: AbortSignal) => Promise<void>;
}

export const SYSTEM_CLOCK: Clock = {
  now: () => performance.now(),
  wallTime: () => Date.now(),
  pause: (ms, signal) => setTimeout(ms, undefined, signal && { signal }).catch(() => {}),
};

/** Resolves when the signal fires. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
