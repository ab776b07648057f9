import { expect, it } from "vitest";
import { repeat } from "../../../../dev-env/cluster/repeat.ts";

it("continues after failures and stops with the signal", async () => {
  const ending = new AbortController();
  let count = 0;
  const work = async () => {
    if (++count === 3) ending.abort();
    throw new Error("ignored");
  };
  await repeat(1, work, ending.signal);
  expect(count).toBe(3);
});

it("stops at once during a pause", async () => {
  const ending = new AbortController();
  const done = repeat(60_000, () => Promise.reject(new Error("never")), ending.signal);
  ending.abort();
  await done;
});
