/** How long work blocks the event loop. */
import { setImmediate } from "node:timers/promises";

/**
 * The longest time, in milliseconds of this thread's CPU, for which some work did not let the event loop proceed. CPU time,
 * because on a busy machine any step can take long.
 */
export async function longestStepMs(work: () => Promise<unknown>): Promise<number> {
  let longest = 0;
  let isDone = false;
  let before = process.threadCpuUsage();
  const done = work().finally(() => {
    isDone = true;
  });
  while (!isDone) {
    await setImmediate();
    const { user, system } = process.threadCpuUsage(before);
    longest = Math.max(longest, (user + system) / 1_000);
    before = process.threadCpuUsage();
  }
  await done;
  return longest;
}
