import { expect, it } from "vitest";
import { inParallel } from "../../../../controller/work/parallel.ts";

it("never exceeds its width, and does everything", async () => {
  let now = 0;
  let most = 0;
  const done: number[] = [];
  await inParallel([1, 2, 3, 4, 5], 2, async (item) => {
    most = Math.max(most, ++now);
    await Promise.resolve();
    now -= 1;
    done.push(item);
  });
  expect(most).toBe(2);
  expect(done.toSorted()).toEqual([1, 2, 3, 4, 5]);
});

it("continues when one fails, and then throws the first failure", async () => {
  const tried: number[] = [];
  const work = inParallel([1, 2, 3], 2, async (item) => {
    tried.push(item);
    if (item < 3) throw new Error(`item ${item}`);
  });
  await expect(work).rejects.toThrow("item 1");
  expect(tried).toEqual([1, 2, 3]);
});
