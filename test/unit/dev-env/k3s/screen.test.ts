import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { Screen } from "../../../../dev-env/k3s/screen.ts";

let now = 0;
const written: string[] = [];
const screen = (isTTY: boolean) => new Screen({ isTTY, write: (text) => written.push(text) }, () => now);

beforeEach(() => {
  vi.useFakeTimers();
  now = 0;
  written.length = 0;
});
afterEach(() => vi.useRealTimers());

async function pass(ms: number): Promise<void> {
  now += ms;
  await vi.advanceTimersByTimeAsync(ms);
}

describe("what a person sees", () => {
  it("is lines with the time since the start", () => {
    const plain = screen(false);
    now = 12_345;
    plain.say("cloud", "server worker-1 created");
    expect(written).toEqual([" 12.3 s  cloud      server worker-1 created\n"]);
  });

  it("says on no terminal that something goes on, every ten seconds, with the last detail", async () => {
    const work = Promise.withResolvers<number>();
    let update = (_: string) => {};
    const done = screen(false).during("k3s", "waiting", (tell) => {
      update = tell;
      return work.promise;
    });
    update("it does not answer yet");
    await pass(10_000);
    work.resolve(42);
    expect(await done).toBe(42);
    await pass(60_000);
    expect(written).toEqual([
      "  0.0 s  k3s        waiting …\n",
      " 10.0 s  k3s        waiting: it does not answer yet … 10.0 s\n",
    ]);
  });

  it("keeps one live line on a terminal, which goes when it is over, also when that is a failure", async () => {
    const work = Promise.withResolvers<never>();
    const done = screen(true).during("k3s", "waiting", () => work.promise);
    await pass(1_000);
    expect(written.at(-1)).toBe("\r\u001b[K         k3s        waiting … 1.0 s");
    work.reject(new Error("no"));
    await expect(done).rejects.toThrow("no");
    expect(written.at(-1)).toBe("\r\u001b[K");
    const { length } = written;
    await pass(60_000);
    expect(written).toHaveLength(length);
  });
});
