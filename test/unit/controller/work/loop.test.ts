import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Loop } from "../../../../controller/work/loop.ts";
import { aLog } from "../../../support/log.ts";

beforeEach(() => vi.useFakeTimers());
afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A loop that notes the time of every run. Work ends at once unless a test holds it. */
function aLoop(
  given: { everyMs?: number; minIntervalMs?: () => number; work?: () => Promise<number | undefined> } = {},
) {
  const runs: number[] = [];
  const { log, lines } = aLog();
  const start = performance.now();
  const loop = new Loop({
    name: "test",
    quietMs: 100,
    patienceMs: 1_000,
    everyMs: given.everyMs ?? 1_000_000,
    minIntervalMs: given.minIntervalMs,
    log,
    work: async () => {
      runs.push(performance.now() - start);
      return given.work?.();
    },
  });
  return { loop, runs, lines };
}

describe("the loop", () => {
  it("framework R25b: turns a burst into one run, after a quiet moment", async () => {
    const { loop, runs } = aLoop();
    loop.wake();
    await vi.advanceTimersByTimeAsync(50);
    loop.wake();
    await vi.advanceTimersByTimeAsync(99);
    expect(runs).toEqual([]);
    await vi.advanceTimersByTimeAsync(1);
    expect(runs).toEqual([150]);
    await loop.stop();
  });

  it("does not wait for a quiet moment forever", async () => {
    const { loop, runs } = aLoop();
    for (let at = 0; at < 1_500; at += 50) {
      loop.wake();
      await vi.advanceTimersByTimeAsync(50);
    }
    expect(runs[0]).toBe(1_000);
    await loop.stop();
  });

  it("keeps the minimum interval between runs, and starts at once after a rest (hardening 3)", async () => {
    const { loop, runs } = aLoop({ minIntervalMs: () => 5_000 });
    for (let at = 0; at < 12_000; at += 200) {
      loop.wake();
      await vi.advanceTimersByTimeAsync(200);
    }
    expect(runs).toEqual([100, 5_100, 10_100]);
    await vi.advanceTimersByTimeAsync(20_000);
    const before = runs.length;
    loop.wake();
    await vi.advanceTimersByTimeAsync(100);
    expect(runs).toHaveLength(before + 1);
    await loop.stop();
  });

  it("never overlaps runs; wake-ups during a run cause one more", async () => {
    const held = Promise.withResolvers<undefined>();
    let isFirst = true;
    const { loop, runs } = aLoop({
      work: () => {
        if (!isFirst) return Promise.resolve(undefined);
        isFirst = false;
        return held.promise;
      },
    });
    loop.wake();
    await vi.advanceTimersByTimeAsync(100);
    loop.wake();
    loop.wake();
    await vi.advanceTimersByTimeAsync(5_000);
    expect(runs).toHaveLength(1);
    held.resolve(undefined);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(runs).toHaveLength(2);
    await loop.stop();
  });

  it("runs again when the work asks for it", async () => {
    const { loop, runs } = aLoop({ work: async () => (runs.length === 1 ? 500 : undefined) });
    loop.wake();
    await vi.advanceTimersByTimeAsync(700);
    expect(runs).toEqual([100, 600]);
    await loop.stop();
  });

  it("keeps the requested time, however often it is woken before", async () => {
    let isFirst = true;
    const { loop, runs } = aLoop({
      work: async () => {
        const again = isFirst ? 300 : undefined;
        isFirst = false;
        return again;
      },
    });
    loop.wake();
    await vi.advanceTimersByTimeAsync(350); // the run at 100 wants another at 400
    loop.wake();
    await vi.advanceTimersByTimeAsync(40);
    loop.wake();
    await vi.advanceTimersByTimeAsync(500);
    expect(runs).toEqual([100, 400]);
    await loop.stop();
  });

  it("framework R25a: runs without a wake-up, in the second half of its interval", async () => {
    vi.spyOn(Math, "random").mockReturnValueOnce(0).mockReturnValueOnce(0.5);
    const { loop, runs } = aLoop({ everyMs: 10_000 });
    loop.wake();
    await vi.advanceTimersByTimeAsync(12_600);
    expect(runs).toEqual([100, 5_100, 12_600]);
    await loop.stop();
  });

  it("retries a failed run with growing pauses, and logs it", async () => {
    let failures = 7;
    const { loop, runs, lines } = aLoop({
      work: () => (failures-- > 0 ? Promise.reject(new Error("down")) : Promise.resolve(undefined)),
    });
    loop.wake();
    await vi.advanceTimersByTimeAsync(120_000);
    const pauses = runs.slice(1).map((at, index) => at - (runs[index] ?? 0));
    expect(pauses).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000]);
    expect(lines).toHaveLength(7);
    expect(lines[0]).toMatchObject({ level: "warn", loop: "test", error: "down" });
    await loop.stop();
  });

  it("restarts with short pauses after a success", async () => {
    const outcomes = ["fail", "fail", "fine", "fail"];
    const { loop, runs } = aLoop({
      work: async () => {
        if (outcomes.shift() === "fail") throw new Error("down");
        return 10;
      },
    });
    loop.wake();
    await vi.advanceTimersByTimeAsync(4_120);
    expect(runs.slice(0, 5)).toEqual([100, 1_100, 3_100, 3_110, 4_110]);
    await loop.stop();
  });

  it("runs on a wake-up without waiting for the pause after a failure", async () => {
    const { loop, runs } = aLoop({ work: () => Promise.reject(new Error("down")) });
    loop.wake();
    await vi.advanceTimersByTimeAsync(100);
    loop.wake();
    await vi.advanceTimersByTimeAsync(100);
    expect(runs).toEqual([100, 200]);
    await loop.stop();
  });
});

describe("stopping the loop", () => {
  it("waits for the current run, and leaves no timer", async () => {
    const held = Promise.withResolvers<undefined>();
    const { loop, runs } = aLoop({ work: () => held.promise });
    loop.wake();
    await vi.advanceTimersByTimeAsync(100);
    let isStopped = false;
    const stopped = loop.stop().then(() => {
      isStopped = true;
    });
    await vi.advanceTimersByTimeAsync(10);
    expect(isStopped).toBe(false);
    held.resolve(undefined);
    await stopped;
    loop.wake();
    expect(vi.getTimerCount()).toBe(0);
    await vi.advanceTimersByTimeAsync(10_000);
    expect(runs).toHaveLength(1);
  });

  it("drops runs that were requested and not started", async () => {
    const { loop, runs } = aLoop();
    loop.wake();
    await loop.stop();
    await vi.advanceTimersByTimeAsync(10_000);
    expect(runs).toEqual([]);
  });
});
