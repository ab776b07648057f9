import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ProgressDisplay } from "../../dev-env/toolchain/progress.ts";
import { toolNamed } from "./fake-machine.ts";

const etcd = toolNamed("etcd");
let text = "";
const screen = (isTTY: boolean) => ({ isTTY, write: (more: string) => (text += more) });

beforeEach(() => {
  text = "";
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

it("writes plain lines, and a sign of life during long steps, when not on a terminal", () => {
  const display = new ProgressDisplay(screen(false));
  display.report({ tool: etcd, phase: "building", elapsedMs: 0 });
  vi.advanceTimersByTime(60_000);
  display.report({ tool: etcd, phase: "ready", elapsedMs: 60_400, source: "build" });
  expect(text.split("\n").map((line) => line.replace(/ +/g, " "))).toEqual([
    "building from source, once; everything takes about 15 minutes on two cores",
    `etcd ${etcd.version} building …`,
    `etcd ${etcd.version} building … 30 s`,
    `etcd ${etcd.version} building … 60 s`,
    `etcd ${etcd.version} built in 60 s`,
    "",
  ]);
});

it("counts seconds in place on a terminal", () => {
  const display = new ProgressDisplay(screen(true));
  display.report({ tool: etcd, phase: "downloading", elapsedMs: 0 });
  vi.advanceTimersByTime(3_000);
  expect(text).toContain("downloading … 3 s");
  expect(text).not.toContain("\n");
  display.close();
  expect(vi.getTimerCount()).toBe(0);
});

it("has nothing to say in quiet mode when the tools are there", () => {
  const display = new ProgressDisplay(screen(false), true);
  display.report({ tool: etcd, phase: "searching", elapsedMs: 0 });
  display.report({ tool: etcd, phase: "ready", elapsedMs: 3, source: "cache" });
  display.close();
  expect(text).toBe("");
});
