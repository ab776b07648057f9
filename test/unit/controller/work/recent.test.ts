import { describe, expect, it } from "vitest";
import { Recent } from "../../../../controller/work/recent.ts";

describe("a map of limited size", () => {
  it("forgets what was set longest ago", () => {
    const recent = new Recent<number>(2);
    recent.set("a", 1).set("b", 2).set("a", 3).set("c", 4);
    expect([...recent]).toEqual([
      ["a", 3],
      ["c", 4],
    ]);
  });

  it("does not count reads as use", () => {
    const recent = new Recent<number>(2);
    recent.set("a", 1).set("b", 2);
    expect(recent.get("a")).toBe(1);
    recent.set("c", 3);
    expect([...recent.keys()]).toEqual(["b", "c"]);
  });
});
