import { describe, expect, it } from "vitest";
import { guard } from "../../../../controller/guard/guard.ts";
import type { PlannedUnit } from "../../../../controller/guard/plan.ts";
import { routeUnit } from "../../../../stacks/units/names.ts";
import { aRoute } from "../../../support/builders.ts";

const remove = (count: number, asked: boolean): PlannedUnit[] =>
  Array.from({ length: count }, (_, index) => ({
    kind: "remove",
    unit: routeUnit({ destination: `10.0.${index}.0/24` }),
    asked,
    differences: [],
  }));
const MAKE: PlannedUnit = {
  kind: "make",
  unit: "route/10.9.0.0/24",
  spec: aRoute("10.9.0.0/24", "10.0.0.1"),
  differences: [],
};

describe("guard", () => {
  it.each([
    ["nothing to remove", 0, 0, true],
    ["few of few", 5, 5, true],
    ["one more than few, a third of all", 6, 18, true],
    ["one more than few, more than a third", 6, 17, false],
    ["a third of many", 100, 300, true],
    ["all of many", 300, 300, false],
  ])("%s: %d of %d pass: %s", (_, count, total, passes) => {
    const plan = [...remove(count, false), MAKE];
    const guarded = guard(plan, total);
    expect(guarded.plan).toEqual(passes ? plan : [MAKE]);
    expect(guarded.stopped === undefined).toBe(passes);
  });

  it("lets every removal pass that an object asks for", () => {
    const plan = remove(300, true);
    expect(guard(plan, 300)).toEqual({ plan, held: 0 });
  });

  it("holds back only what no object asked for", () => {
    const asked = remove(10, true);
    expect(guard([...asked, ...remove(10, false)], 20).plan).toEqual(asked);
  });

  it("says how many of how many, and names the first", () => {
    expect(guard(remove(9, false), 9).stopped).toBe(
      "9 of 9 units would be removed although no object asks for it: route/10.0.0.0/24, route/10.0.1.0/24, route/10.0.2.0/24 and 6 more",
    );
  });

  it("respects other limits", () => {
    expect(guard(remove(1, false), 1, { removals: 0, share: 0 }).plan).toEqual([]);
  });
});
