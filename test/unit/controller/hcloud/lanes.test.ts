import { describe, expect, it } from "vitest";
import { Lanes } from "../../../../controller/hcloud/lanes.ts";

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
    expect(lanes.isIdle("x")).toBe(true);
    await lanes.idle("x");
    const run = lanes.run("x", a.work);
    expect(lanes.isIdle("x")).toBe(false);
    expect(lanes.isIdle("y")).toBe(true);
    let isIdle = false;
    const idle = lanes.idle("x").then(() => {
      isIdle = true;
    });
    await settled();
    expect(isIdle).toBe(false);
    a.fail();
    await expect(run).rejects.toThrow();
    await idle;
    expect(lanes.isIdle("x")).toBe(true);
  });
});
