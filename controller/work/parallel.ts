/** Bounded concurrency. */

/** Does the work for all items, at most `width` at a time. A failure does not stop the others; the first is thrown at the end. */
export async function inParallel<T>(items: readonly T[], width: number, work: (item: T) => Promise<void>) {
  const queue = items.values();
  const failures: unknown[] = [];
  const lane = async () => {
    for (const item of queue) await work(item).catch((error: unknown) => failures.push(error));
  };
  await Promise.all(Array.from({ length: Math.min(width, items.length) }, lane));
  if (failures.length > 0) throw failures[0];
}
