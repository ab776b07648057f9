import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Screen } from "../../../../dev-env/k3s/screen.ts";

const written: string[] = [];

beforeEach(() => {
  vi.useFakeTimers();
  written.length = 0;
});
afterEach(() => vi.useRealTimers());

describe("the screen", () => {
  it("begins every line with the time since the start", async () => {
    const screen = new Screen({ write: (text) => written.push(text) });
    await vi.advanceTimersByTimeAsync(12_345);
    screen.say("machines", "server dev-worker-1 created");
    expect(written).toEqual(["  12.3 s  machines   server dev-worker-1 created\n"]);
  });

  it("repeats what is under way every ten seconds with the last detail, until it ends or fails", async () => {
    const work = Promise.withResolvers<never>();
    let update = (_: string) => {};
    const done = new Screen({ write: (text) => written.push(text) }).during("k3s", "waiting", (tell) => {
      update = tell;
      return work.promise;
    });
    update("booting");
    await vi.advanceTimersByTimeAsync(10_000);
    work.reject(new Error("no"));
    await expect(done).rejects.toThrow("no");
    await vi.advanceTimersByTimeAsync(60_000);
    expect(written).toEqual(["   0.0 s  k3s        waiting …\n", "  10.0 s  k3s        waiting: booting …\n"]);
  });
});
