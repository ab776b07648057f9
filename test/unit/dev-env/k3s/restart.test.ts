import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { startProcess } from "../../../../dev-env/k3s/controller.ts";
import { keepRunning } from "../../../../dev-env/k3s/restart.ts";
import { eventually } from "../../../support/eventually.ts";

let directory: string;
let stop: AbortController;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "lotse-watch-"));
  mkdirSync(join(directory, "sources", "deep"), { recursive: true });
  stop = new AbortController();
});

afterEach(() => rmSync(directory, { recursive: true, force: true }));

const source = (name: string, text: string) => writeFileSync(join(directory, "sources", name), text);

/** A program in place of the controller: ends when it is told to, or by itself. */
function program() {
  const state = { starts: 0, running: 0, most: 0, ends: [] as (() => void)[] };
  const start = () => {
    state.starts += 1;
    state.running += 1;
    state.most = Math.max(state.most, state.running);
    let isOver = false;
    const { promise: ended, resolve } = Promise.withResolvers<void>();
    const end = () => {
      if (!isOver) state.running -= 1;
      isOver = true;
      resolve();
    };
    state.ends.push(end);
    return { ended, stop: async () => end() };
  };
  return { state, start };
}

function run(start: ReturnType<typeof program>["start"], told: string[] = []) {
  return keepRunning({
    sources: [join(directory, "sources")],
    start,
    quietMs: 30,
    signal: stop.signal,
    onChange: (file) => told.push(`changed ${file}`),
    onEnd: () => told.push("ended"),
  });
}

describe("a program that is kept running", () => {
  it("is started anew when a source changes, once for a burst, never twice at a time", async () => {
    const { state, start } = program();
    const told: string[] = [];
    const running = run(start, told);
    for (let index = 0; index < 5; index++) source("deep/a.ts", `${index}`);
    await eventually(() => expect(state.starts).toBe(2), { timeoutMs: 5_000 });
    expect(told).toEqual(["changed deep/a.ts"]);
    source("b.json", "{}");
    await eventually(() => expect(state.starts).toBe(3), { timeoutMs: 5_000 });
    stop.abort();
    await running;
    expect(state).toMatchObject({ running: 0, most: 1 });
  });

  it("is not disturbed by files that are no sources", async () => {
    const { state, start } = program();
    const running = run(start);
    for (const name of [".a.ts.swp", "a.ts~", "4913", ".hidden.ts", "notes.md"]) source(name, "x");
    await new Promise((resolve) => setTimeout(resolve, 150));
    stop.abort();
    await running;
    expect(state.starts).toBe(1);
  });

  it("is left alone after it ended by itself, until a source changes", async () => {
    const { state, start } = program();
    const told: string[] = [];
    const running = run(start, told);
    state.ends[0]?.();
    await eventually(() => expect(told).toEqual(["ended"]), { timeoutMs: 5_000 });
    expect(state.starts).toBe(1);
    source("a.ts", "fixed");
    await eventually(() => expect(state.starts).toBe(2), { timeoutMs: 5_000 });
    stop.abort();
    await running;
    expect(told).toEqual(["ended", "changed a.ts"]);
  });
});

describe("a process", () => {
  it("is ended in good order, and what it says is passed on", async () => {
    const lines: string[] = [];
    const code = `process.on("SIGTERM", () => { console.error("bye"); process.exit(0); }); console.error("up"); setInterval(() => {}, 1000);`;
    const running = startProcess(["-e", code], { env: {}, onLine: (line) => lines.push(line) });
    await eventually(() => expect(lines).toEqual(["up"]), { timeoutMs: 10_000 });
    await running.stop();
    await running.ended;
    expect(lines).toEqual(["up", "bye"]);
  });
});
