import { mkdir, mkdtemp, readdir, rm, utimes } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { removeOld } from "../../../../dev-env/nodes/images/store.ts";

it("keeps the three stores used last and those of the last hour, and nothing that a killed import left", async () => {
  const cache = await mkdtemp(join(tmpdir(), "lotse-store-"));
  try {
    const hours = { "store-a": 9, "store-b": 8, "store-c": 7, "store-d": 6, "store-c.Xy12": 0, lock: 20 };
    for (const [name, age] of Object.entries(hours)) {
      await mkdir(join(cache, name));
      const used = new Date(Date.now() - age * 3_600_000);
      await utimes(join(cache, name), used, used);
    }
    await removeOld(cache);
    expect((await readdir(cache)).sort()).toEqual(["lock", "store-b", "store-c", "store-d"]);
  } finally {
    await rm(cache, { recursive: true });
  }
});
