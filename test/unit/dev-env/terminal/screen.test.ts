import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import type { Paint } from "../../../../controller/diagnostics/paint.ts";
import { Screen } from "../../../../dev-env/terminal/screen.ts";

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

  it.each([
    ["other lines", { topic: "node", text: "up" }, "cyan"],
    ["a problem", { topic: "error", text: "no", isProblem: true }, "yellow"],
    ["the end", { topic: "ready", text: "yes" }, "green"],
  ])("colours the topic on a terminal: %s", (_, line, colour) => {
    const paint: Paint = (text, given) => `<${given}>${text}</>`;
    new Screen({ write: (text) => written.push(text) }, { time: 6, topic: 5 }, paint).show(line);
    expect(written).toEqual([` 0.0 s  <${colour}>${line.topic.padEnd(5)}</> ${line.text}\n`]);
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
