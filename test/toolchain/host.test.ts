import { expect, it } from "vitest";
import { thisHost } from "../../dev-env/toolchain/host.ts";

const node = process.execPath;

it("collects both streams and the exit code", async () => {
  const script = "process.stdout.write('out'); process.stderr.write('err'); process.exitCode = 3";
  const result = await thisHost.run(node, ["-e", script], { timeoutMs: 5_000 });
  expect(result).toMatchObject({ kind: "exited", code: 3 });
  expect(result).toHaveProperty("output", expect.stringMatching(/^(outerr|errout)$/));
});

it("ends a program that takes too long, with what it has started", async () => {
  // The sleeping grandchild holds the output open: the result would come after a minute if it lived on.
  const result = await thisHost.run("sh", ["-c", "sleep 60 & wait"], { timeoutMs: 100 });
  expect(result.kind).toBe("timed-out");
});

it("says why a program does not start", async () => {
  const result = await thisHost.run("/does/not/exist", [], { timeoutMs: 1_000 });
  expect(result).toEqual({ kind: "not-started", reason: "spawn /does/not/exist ENOENT" });
});
