import { expect, it } from "vitest";
import { eventually } from "./eventually.ts";

it("returns the value of the first call that does not throw", async () => {
  let calls = 0;
  const probe = () => {
    if (++calls < 3) throw new Error(`call ${calls}`);
    return "done";
  };
  expect(await eventually(probe, { intervalMs: 1 })).toBe("done");
  expect(calls).toBe(3);
});

it("throws the last error at the deadline", async () => {
  let calls = 0;
  const probe = () => Promise.reject(new Error(`call ${++calls}`));
  const failure = eventually(probe, { timeoutMs: 20, intervalMs: 1 });
  await expect(failure).rejects.toThrow(/^call \d+$/);
  await failure.catch((error: Error) => expect(error.message).toBe(`call ${calls}`));
  expect(calls).toBeGreaterThan(1);
});
