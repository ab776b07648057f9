import { describe, expect, it } from "vitest";
import { DriftWatch, describeDrift } from "../../../../controller/guard/drift.ts";
import type { Situation } from "../../../../controller/guard/plan.ts";
import type { ServiceIntent } from "../../../../controller/render/intents.ts";
import { type Difference, differences } from "../../../../stacks/units/difference.ts";
import { unitOf } from "../../../../stacks/units/names.ts";
import type { LoadBalancerSpec, LoadBalancerState } from "../../../../stacks/units/spec.ts";
import { aBalancerSpec, aBalancerState } from "../../../support/builders.ts";

/** A watch that observes one load balancer after the other. `at` is the time in minutes. */
function aWatch() {
  const clock = { minutes: 0 };
  const watch = new DriftWatch(() => clock.minutes * 60_000);
  const observe = (
    spec: LoadBalancerSpec | undefined = aBalancerSpec(),
    state: LoadBalancerState | null = aBalancerState(),
  ) => watch.observe(situation(spec, state ?? undefined));
  return {
    clock,
    observe,
    words: (...given: Parameters<typeof observe>) =>
      observe(...given).map(({ differences: found }) => describeDrift(found)),
  };
}

function situation(spec: LoadBalancerSpec, state: LoadBalancerState | undefined): Situation {
  const unit = unitOf(spec);
  const found = differences(spec, state);
  const intent = { kind: "balance", unit, spec, certificates: { wanted: [] } } as unknown as ServiceIntent;
  const rendered = { services: [intent], existing: state ? { [unit]: state } : {} };
  return { rendered, plan: found.length > 0 ? [{ kind: "make", unit, spec, differences: found }] : [] };
}

describe("drift", () => {
  const SPOILT = aBalancerState({ algorithm: "least_connections" });

  it("is a difference in a unit that matched its spec, while the spec is the same", () => {
    const { words } = aWatch();
    expect(words()).toEqual([]);
    expect(words(aBalancerSpec(), SPOILT)).toEqual(["algorithm was changed to least_connections"]);
  });

  it("does not depend on the order of a spec's fields", () => {
    const { words } = aWatch();
    words();
    const reordered = Object.fromEntries(Object.entries(aBalancerSpec()).toReversed()) as unknown as LoadBalancerSpec;
    expect(words(reordered, SPOILT)).toHaveLength(1);
  });

  it("is not a difference caused by a new spec", () => {
    const { words } = aWatch();
    words();
    expect(words(aBalancerSpec({ type: "lb21" }))).toEqual([]);
  });

  it("is not a difference in a unit that was never seen to match, as after a restart", () => {
    expect(aWatch().words(aBalancerSpec(), SPOILT)).toEqual([]);
  });

  it("is reported once, until the unit has matched again", () => {
    const { words } = aWatch();
    words();
    expect(words(aBalancerSpec(), SPOILT)).toHaveLength(1);
    expect(words(aBalancerSpec(), SPOILT)).toEqual([]);
    words();
    expect(words(aBalancerSpec(), SPOILT)).toHaveLength(1);
  });

  it("remembers what was deleted", () => {
    const { observe } = aWatch();
    observe(aBalancerSpec(), aBalancerState({ id: 37 }));
    expect(observe(aBalancerSpec(), null)).toMatchObject([{ lost: { id: 37, name: "balancer" } }]);
  });

  it("is counted within an hour", () => {
    const { observe, clock } = aWatch();
    const times = [0, 10, 59, 65].map((minutes) => {
      observe();
      clock.minutes = minutes;
      return observe(aBalancerSpec(), SPOILT)[0]?.times;
    });
    expect(times).toEqual([1, 2, 3, 3]);
  });

  it("is noticed at once after a run, and that run hides no drift of other units", () => {
    const watch = new DriftWatch();
    const other = aBalancerSpec({ service: { namespace: "default", name: "other", uid: "2" } });
    const both = (first: LoadBalancerState | undefined, second: LoadBalancerState): Situation => {
      const parts = [situation(aBalancerSpec(), first), situation(other, second)];
      return {
        rendered: {
          services: parts.flatMap(({ rendered }) => rendered.services),
          existing: Object.assign({}, ...parts.map(({ rendered }) => rendered.existing)),
        },
        plan: parts.flatMap(({ plan }) => plan),
      };
    };
    const units = (at: Situation) => watch.observe(at).map(({ unit }) => unit);
    const before = both(undefined, aBalancerState());
    expect(units(before)).toEqual([]);
    // While a run makes the first, the second is changed by hand.
    watch.settle(both(aBalancerState(), SPOILT), before.plan);
    expect(units(both(SPOILT, SPOILT))).toEqual([unitOf(aBalancerSpec()), unitOf(other)]);
  });

  it("is not what a run has left, nor what its actions are still changing", () => {
    const { rendered, plan } = situation(aBalancerSpec(), SPOILT);
    const underWay = new Map(plan.map((step) => [step.unit, step]));
    for (const after of [
      { rendered, plan },
      { rendered, plan: [], underWay },
    ]) {
      const watch = new DriftWatch();
      watch.settle(after, plan);
      expect(watch.observe({ rendered, plan })).toEqual([]);
    }
  });

  it("is what a step repairs if it asks for what the unit matched", () => {
    const watch = new DriftWatch();
    watch.observe(situation(aBalancerSpec(), aBalancerState()));
    const isDrift = (spec: LoadBalancerSpec) => situation(spec, SPOILT).plan.map((step) => watch.isDrift(step));
    expect([isDrift(aBalancerSpec()), isDrift(aBalancerSpec({ type: "lb21" }))]).toEqual([[true], [false]]);
  });

  it("is not remembered for units that are no longer wanted", () => {
    const watch = new DriftWatch();
    watch.observe(situation(aBalancerSpec(), aBalancerState()));
    watch.observe({ rendered: { services: [], existing: {} }, plan: [] });
    expect(watch.observe(situation(aBalancerSpec(), SPOILT))).toEqual([]);
  });
});

describe("describeDrift", () => {
  it.each<readonly [string, readonly Difference[], string]>([
    ["changed", [{ part: "balancer", field: "type", want: "lb11", have: "lb21" }], "type was changed to lb21"],
    ["added", [{ part: "ip-1.1.1.1", field: "address", have: "public" }], "target ip-1.1.1.1 was added"],
    ["removed", [{ part: "listener-80", field: "protocol", want: "tcp" }], "listener 80 protocol was removed"],
  ])("says what was %s", (_, found, words) => {
    expect(describeDrift(found)).toBe(words);
  });

  it("names five and counts the rest", () => {
    const found = Array.from({ length: 8 }, (_, index) => ({ part: "balancer", field: `f${index}`, want: "x" }));
    expect(describeDrift(found)).toBe(
      "f0 was removed, f1 was removed, f2 was removed, f3 was removed, f4 was removed and 3 more",
    );
  });
});
