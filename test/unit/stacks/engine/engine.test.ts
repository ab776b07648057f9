import type { ChildProcess } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
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

it("an engine whose worker process cannot be started fails the run at once, and not at its deadline", async () => {
  await using ends = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "lotse-unit-"));
  ends.defer(() => rm(directory, { recursive: true }));
  const node = process.execPath;
  ends.defer(() => void Object.assign(process, { execPath: node }));
  Object.assign(process, { execPath: "/nowhere/node" });
  const home = { pulumi: "/nowhere/pulumi", plugins: "/nowhere", directory, isScratch: true, stack: "s" };
  const engine = new Engine({ home, deadlineMs: 60_000, graceMs: 1_000, idleMs: 1_000 });
  const access = { endpoint: "http://127.0.0.1:1", token: "t" };
  const { outcomes } = await engine.run({
    mode: "apply",
    units: [aBalancerSpec()],
    removals: [],
    existing: {},
    access,
  });
  expect(Object.values(outcomes)).toMatchObject([
    { status: "failed", failure: { code: "worker-died", retry: "soon" } },
  ]);
  await engine.stop();
});

it("an engine ends its worker, and starts the next one, although a message to it breaks off", async () => {
  await using ends = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "lotse-unit-"));
  ends.defer(() => rm(directory, { recursive: true }));
  let starts = 0;
  const onStart = (message: unknown) => {
    const { process: child } = message as { readonly process: ChildProcess };
    // The worker is being ended, and has not exited yet.
    const breakOff = (event: string) => {
      if (event === "exit" && child.connected) queueMicrotask(() => child.emit("error", new Error("write EPIPE")));
    };
    child.on("newListener", breakOff);
  };
  subscribe("child_process", onStart);
  ends.defer(() => void unsubscribe("child_process", onStart));
  const home = { pulumi: "/nowhere/pulumi", plugins: "/nowhere", directory, isScratch: true, stack: "s" };
  const onWorker = () => {
    starts += 1;
  };
  const engine = new Engine({ home, onWorker, deadlineMs: 60_000, graceMs: 1_000, idleMs: 60_000 });
  for (const token of ["1", "2"]) engine.prepare({ endpoint: "http://127.0.0.1:1", token });
  await expect(engine.stop()).resolves.toBeUndefined();
  expect(starts).toBe(2);
});
