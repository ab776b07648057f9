/** Finds out as soon as somebody answers again. */
import { setTimeout } from "node:timers/promises";

/** So often somebody who is away is asked again. */
const EVERY_MS = 500;

/**
 * Asks again and again, without waiting for earlier questions: one that got lost is answered late or never, and a server that
 * is slow answers the first one. Resolves with the first answer; when the signal fires, rejects with the last failure.
 */
export async function knock(ask: (signal: AbortSignal) => Promise<void>, until: AbortSignal): Promise<void> {
  const done = new AbortController();
  const signal = AbortSignal.any([until, done.signal]);
  const answered = Promise.withResolvers<"answered">();
  let failure: unknown;
  const asked: Promise<void>[] = [];
  try {
    while (!until.aborted) {
      const attempt = ask(signal).then(
        () => answered.resolve("answered"),
        (error: unknown) => {
          failure = error;
        },
      );
      asked.push(attempt);
      const pause = setTimeout(EVERY_MS, "asked", { signal }).catch(() => "asked"); // the signal ends the loop
      if ((await Promise.race([answered.promise, pause])) === "answered") return;
    }
  } finally {
    done.abort();
  }
  await Promise.all(asked);
  throw failure;
}
