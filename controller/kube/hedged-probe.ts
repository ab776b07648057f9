/** Detects within half a second that a server responds again. */
import { SYSTEM_CLOCK } from "../work/clock.ts";

/** Interval between two probes. */
const EVERY_MS = 500;

/**
 * Sends a probe every half second without waiting for earlier ones: a lost probe is answered late or never, while a slow
 * server may still answer the first. Resolves with the first answer; rejects with the last failure once `until` fires.
 */
export async function hedgedProbe(
  ask: (signal: AbortSignal) => Promise<void>,
  until: AbortSignal,
  clock = SYSTEM_CLOCK,
): Promise<void> {
  const done = new AbortController();
  const signal = AbortSignal.any([until, done.signal]);
  const answered = Promise.withResolvers<true>();
  let failure: unknown;
  const asked: Promise<void>[] = [];
  try {
    while (!until.aborted) {
      const attempt = ask(signal).then(
        () => answered.resolve(true),
        (error: unknown) => {
          failure = error;
        },
      );
      asked.push(attempt);
      if (await Promise.race([answered.promise, clock.pause(EVERY_MS, signal)])) return;
    }
  } finally {
    done.abort();
  }
  await Promise.all(asked);
  throw failure;
}
