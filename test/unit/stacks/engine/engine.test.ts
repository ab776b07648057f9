import { expect, it } from "vitest";
import { Engine } from "../../../../stacks/engine/engine.ts";
import { aBalancerSpec } from "../../../support/builders.ts";

it("an engine whose processes cannot be started fails the run, and the next one tries again", async () => {
  let starts = 0;
  const home = { pulumi: "/nowhere/pulumi", plugins: "/nowhere", directory: "/nowhere", isScratch: true, stack: "s" };
  const onWorker = () => {
    starts += 1;
    throw new Error("spawn ENOMEM");
  };
  const engine = new Engine({ home, onWorker, deadlineMs: 1_000, graceMs: 1_000, idleMs: 1_000 });
  const access = { endpoint: "http://127.0.0.1:1", token: "t" };
  const run = () => engine.run({ mode: "apply", units: [aBalancerSpec()], removals: [], existing: {}, access });
  engine.prepare(access);
  await new Promise(setImmediate);
  expect(starts).toBe(1);
  for (const expected of [2, 3]) {
    const { outcomes } = await run();
    expect(Object.values(outcomes)).toMatchObject([{ status: "failed", failure: { message: "spawn ENOMEM" } }]);
    expect(starts).toBe(expected);
  }
  await engine.stop();
  engine.prepare(access);
  const { outcomes } = await run();
  expect(Object.values(outcomes)).toMatchObject([{ failure: { message: "the engine has been stopped" } }]);
  expect(starts).toBe(3);
});
