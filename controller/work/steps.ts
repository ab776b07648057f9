/** Long computations as generators that pause after each step, so that they need not block the event loop. */
import { setImmediate } from "node:timers/promises";

/** Computes without pauses. */
export function finish<T>(steps: Generator<void, T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Lets other work proceed after this long. A step may take longer; nothing else should. */
const SLICE_MS = 10;

/** Computes in slices, between which lease renewals, watches and health checks are served. */
export async function inSlices<T>(steps: Generator<void, T>): Promise<T> {
  for (let until = performance.now() + SLICE_MS; ; ) {
    const step = steps.next();
    if (step.done) return step.value;
    if (performance.now() < until) continue;
    await setImmediate();
    until = performance.now() + SLICE_MS;
  }
}
