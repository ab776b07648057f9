import { describe, expect, it } from "vitest";
import { DriftWatch, describeChanges, describeDrift } from "../../../../controller/guard/drift.ts";
import type { Plan } from "../../../../controller/guard/plan.ts";
import { type Difference, differences } from "../../../../stacks/units/difference.ts";
import { unitOf } from "../../../../stacks/units/names.ts";
import type { LoadBalancerState } from "../../../../stacks/units/spec.ts";
import { aBalancerSpec, aBalancerState } from "../../../support/builders.ts";

/** A watch that observes one load balancer after the other. */
function aWatch() {
  const watch = new DriftWatch();
  return (spec = aBalancerSpec(), state: LoadBalancerState | undefined = aBalancerState()) => {
    const unit = unitOf(spec);
    const found = differences(spec, state);
    const plan: Plan = found.length > 0 ? [{ kind: "make", unit, spec, differences: found }] : [];
    return watch.observe(new Map([[unit, spec]]), plan).map(({ differences: drifted }) => describeDrift(drifted));
  };
}

describe("drift", () => {
  it("is a difference in a unit that matched its spec, while the spec is the same", () => {
    const observe = aWatch();
    expect(observe()).toEqual([]);
    expect(observe(aBalancerSpec(), aBalancerState({ algorithm: "least_connections" }))).toEqual([
      "algorithm was changed to least_connections",
    ]);
  });

  it("is not a difference caused by a new spec", () => {
    const observe = aWatch();
    observe();
    expect(observe(aBalancerSpec({ type: "lb21" }))).toEqual([]);
  });

  it("is not a difference in a unit that was never seen to match, as after a restart", () => {
    expect(aWatch()(aBalancerSpec(), aBalancerState({ type: "lb31" }))).toEqual([]);
  });

  it("is reported once, until the unit has matched again", () => {
    const observe = aWatch();
    const spoilt = aBalancerState({ name: "x" });
    observe();
    expect(observe(aBalancerSpec(), spoilt)).toHaveLength(1);
    expect(observe(aBalancerSpec(), spoilt)).toEqual([]);
    observe();
    expect(observe(aBalancerSpec(), spoilt)).toHaveLength(1);
  });

  it("is not remembered for units that are no longer wanted", () => {
    const watch = new DriftWatch();
    const spec = aBalancerSpec();
    const unit = unitOf(spec);
    watch.observe(new Map([[unit, spec]]), []);
    watch.observe(new Map(), []);
    const plan: Plan = [{ kind: "make", unit, spec, differences: [{ field: "name", want: "x" }] }];
    expect(watch.observe(new Map([[unit, spec]]), plan)).toEqual([]);
  });
});

describe("describeDrift", () => {
  it.each<readonly [string, readonly Difference[], string]>([
    ["changed", [{ field: "type", want: "lb11", have: "lb21" }], "type was changed to lb21"],
    ["added", [{ field: "target ip-1.1.1.1", have: "public" }], "target ip-1.1.1.1 was added"],
    ["removed", [{ field: "listener-80 protocol", want: "tcp" }], "listener 80 protocol was removed"],
  ])("says what was %s", (_, found, words) => {
    expect(describeDrift(found)).toBe(words);
  });

  it("names five and counts the rest", () => {
    const found = Array.from({ length: 8 }, (_, index) => ({ field: `f${index}`, want: "x" }));
    expect(describeDrift(found)).toBe(
      "f0 was removed, f1 was removed, f2 was removed, f3 was removed, f4 was removed and 3 more",
    );
  });
});

it.each<readonly [Difference, string]>([
  [{ field: "type", want: "lb21", have: "lb11" }, "set type to lb21"],
  [{ field: "target server-1", want: "private" }, "add target server-1"],
  [{ field: "label Team", have: "a" }, "remove label Team"],
  [{ field: "listener-443 healthCheck port", want: "80", have: "81" }, "set listener 443 health check port to 80"],
])("describeChanges says what is to be done about %j", (difference, words) => {
  expect(describeChanges([difference])).toBe(words);
});
