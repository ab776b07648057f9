import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { ProgressDisplay } from "../../../../dev-env/toolchain/progress.ts";

let text = "";
const screen = (isTTY: boolean) => ({ isTTY, write: (more: string) => (text += more) });

beforeEach(() => {
  text = "";
  vi.useFakeTimers();
});
afterEach(() => vi.useRealTimers());

it("writes plain lines, and repeats them during long steps, if the output is not a terminal", () => {
  const display = new ProgressDisplay(screen(false));
  display.report({ phase: "not-downloaded", label: "envtest 1.36.2", reason: "status 404" });
  display.report({ phase: "building", label: "etcd 3.6.16", remainingMs: 150_000 });
  vi.advanceTimersByTime(60_000);
  display.report({ phase: "built", label: "etcd 3.6.16", elapsedMs: 60_400 });
  expect(text.split("\n").map((line) => line.replace(/ +/g, " "))).toEqual([
    "envtest 1.36.2 download failed, building instead: status 404",
    "etcd 3.6.16 building … 0 s, about 3 min left in total",
    "etcd 3.6.16 building … 30 s, about 2 min left in total",
    "etcd 3.6.16 building … 60 s, about 2 min left in total",
    "etcd 3.6.16 built in 60 s",
    "",
  ]);
});

it("counts seconds in place on a terminal", () => {
  const display = new ProgressDisplay(screen(true));
  display.report({ phase: "downloading", label: "envtest 1.36.2" });
  vi.advanceTimersByTime(3_000);
  expect(text).toContain("downloading … 3 s");
  expect(text).not.toContain("\n");
  display.close();
  expect(vi.getTimerCount()).toBe(0);
});
