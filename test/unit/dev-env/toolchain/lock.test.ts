import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { withLock } from "../../../../dev-env/toolchain/lock.ts";

it("does nothing more for a caller that is stopped while it waits", async () => {
  const directory = await mkdtemp(join(tmpdir(), "lotse-lock-"));
  const file = join(directory, "lock");
  const stop = new AbortController();
  const done = Promise.withResolvers<void>();
  let hasWorked = false;
  const work = async () => {
    hasWorked = true;
  };
  const first = withLock(file, () => done.promise);
  const second = withLock(file, work, { onWait: () => stop.abort(), signal: stop.signal });
  await expect(second).rejects.toThrow(/aborted/);
  done.resolve();
  await first;
  expect(hasWorked).toBe(false);
  await rm(directory, { recursive: true });
});
