import { describe, expect, it } from "vitest";
import { Lanes, WriteTimes } from "../../../../controller/hcloud/lanes.ts";

/** Work that notes when it begins and ends, and ends when it is told to. */
function aWork(name: string, notes: string[]) {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const work = async () => {
    notes.push(`${name} begins`);
    try {
      return await promise;
    } finally {
      notes.push(`${name} ends`);
    }
  };
  return { work, end: () => resolve(name), fail: () => reject(new Error(name)) };
}
const settled = () => new Promise((resolve) => setImmediate(resolve));

describe("lanes", () => {
  it("runs work on one key one after another, and returns each result", async () => {
    const lanes = new Lanes();
    const notes: string[] = [];
    const [a, b] = [aWork("a", notes), aWork("b", notes)];
    const results = Promise.all([lanes.run("x", a.work), lanes.run("x", b.work)]);
    b.end();
    await settled();
    expect(notes).toEqual(["a begins"]);
    a.end();
    await expect(results).resolves.toEqual(["a", "b"]);
    expect(notes).toEqual(["a begins", "a ends", "b begins", "b ends"]);
  });

  it("runs work on different keys at the same time", async () => {
    const lanes = new Lanes();
    const notes: string[] = [];
    const [a, b] = [aWork("a", notes), aWork("b", notes)];
    const results = Promise.all([lanes.run("x", a.work), lanes.run("y", b.work)]);
    await settled();
    expect(notes).toEqual(["a begins", "b begins"]);
    a.end();
    b.end();
    await results;
  });

  it("continues after failed work, and reports the failure to its caller only", async () => {
    const lanes = new Lanes();
    const notes: string[] = [];
    const [a, b] = [aWork("a", notes), aWork("b", notes)];
    const first = lanes.run("x", a.work);
    const second = lanes.run("x", b.work);
    a.fail();
    b.end();
    await expect(first).rejects.toThrow("a");
    await expect(second).resolves.toBe("b");
  });

  it("is idle when the last work has ended, even in failure", async () => {
    const lanes = new Lanes();
    const a = aWork("a", []);
    await lanes.idle("x");
    const run = lanes.run("x", a.work);
    await lanes.idle("y");
    let isIdle = false;
    const idle = lanes.idle("x").then(() => {
      isIdle = true;
    });
    await settled();
    expect(isIdle).toBe(false);
    a.fail();
    await expect(run).rejects.toThrow();
    await idle;
    await lanes.idle("x");
  });
});

describe("times of writes", () => {
  const timed = () => {
    const clock = { now: 1_000 };
    return { clock, writes: new WriteTimes(() => clock.now) };
  };

  it("are infinitely long ago without any", () => {
    expect(timed().writes.sinceMs("x")).toBe(Number.POSITIVE_INFINITY);
  });

  it("count from the end of the last of several", () => {
    const { clock, writes } = timed();
    const [endFirst, endSecond] = [writes.begin("x"), writes.begin("x")];
    endFirst();
    clock.now += 50;
    expect(writes.sinceMs("x"), "the second is still under way").toBe(0);
    endSecond();
    clock.now += 50;
    expect(writes.sinceMs("x")).toBe(50);
    expect(writes.sinceMs("y")).toBe(Number.POSITIVE_INFINITY);
  });

  it("are forgotten later, except those under way; then they may have been as late as that", () => {
    const { clock, writes } = timed();
    writes.begin("old")();
    writes.begin("again")();
    writes.begin("again");
    clock.now += 100;
    writes.begin("new")();
    writes.sweep(50);
    expect(["old", "again", "new"].map((key) => writes.sinceMs(key))).toEqual([50, 0, 0]);
    clock.now += 10;
    expect(writes.sinceMs("old")).toBe(60);
  });
});
