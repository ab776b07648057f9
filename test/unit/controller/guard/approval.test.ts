import { describe, expect, it } from "vitest";
import {
  ApprovalGate,
  type ApprovalMode,
  parsePending,
  stepId,
  withApprovals,
} from "../../../../controller/guard/approval.ts";
import type { Plan, PlannedUnit } from "../../../../controller/guard/plan.ts";
import { existence } from "../../../../stacks/units/difference.ts";
import { loadBalancerUnit } from "../../../../stacks/units/names.ts";
import { aBalancerSpec, aRoute, UID } from "../../../support/builders.ts";
import { aLog } from "../../../support/log.ts";

const UNIT = loadBalancerUnit({ namespace: "default", name: "web", uid: UID });
const ALGORITHM = { part: "balancer", field: "algorithm", want: "least_connections", have: "round_robin" };
const TYPE = { part: "balancer", field: "type", want: "lb21", have: "lb11" };
const change = (...differences: PlannedUnit["differences"]): PlannedUnit => ({
  kind: "make",
  unit: UNIT,
  spec: aBalancerSpec(),
  differences,
});
const REMOVAL: PlannedUnit = { kind: "remove", unit: "route/10.0.0.0/24", asked: false, differences: [] };
const ROUTE: PlannedUnit = {
  kind: "make",
  unit: "route/10.1.0.0/24",
  spec: aRoute("10.1.0.0/24", "10.0.0.1"),
  differences: [{ part: "route", field: "gateway", want: "10.0.0.1" }],
};

/** A gate with a ConfigMap in memory. */
function aGate(mode: ApprovalMode = "manual") {
  const map = { data: {} as Readonly<Record<string, string>>, reads: 0, isAway: false, isReadOnly: false };
  const { log, lines } = aLog();
  const described: string[] = [];
  let meanwhile = () => {};
  const gate = new ApprovalGate({
    mode,
    map: {
      read: async () => {
        map.reads += 1;
        if (map.isAway) throw new Error("away");
        return map.data;
      },
      update: async (update) => {
        if (map.isReadOnly) throw new Error("read-only");
        map.data = update(map.data);
      },
    },
    log,
  });
  const pass = (plan: Plan, lines_: readonly string[] = ["+ it"], underWay: Plan = []) =>
    gate.pass({ plan, underWay: new Map(underWay.map((step) => [step.unit, step])) }, async (steps) => {
      described.push(...steps.map(({ unit }) => unit));
      meanwhile();
      return steps.map(({ unit }) => ({ unit, object: `Node of ${unit}`, summary: "do it", text: lines_ }));
    });
  const forget = (plan: Plan) => gate.forget({ plan });
  const approve = (...steps: readonly PlannedUnit[]) => {
    map.data = withApprovals(map.data, steps.map(stepId), "ann");
  };
  const waiting = () => parsePending(map.data).waiting.map(({ unit }) => unit);
  const duringDescription = (act: () => void) => {
    meanwhile = act;
  };
  return { map, lines, pass, forget, approve, described, waiting, duringDescription };
}

describe("what waits for approval", () => {
  const all: Plan = [change(ALGORITHM), REMOVAL, ROUTE];
  it.each<[string, ApprovalMode, Plan]>([
    ["nothing, when nothing needs it", "none", []],
    ["removals, when they do", "deletions", [REMOVAL]],
    ["everything, when everything does", "manual", all],
  ])("is %s", async (_, mode, expected) => {
    const { pass, waiting } = aGate(mode);
    const passed = await pass(all);
    expect(passed.plan).toEqual(all.filter((step) => !expected.includes(step)));
    expect(passed.waiting).toBe(expected.length);
    expect(waiting().toSorted()).toEqual(expected.map(({ unit }) => unit).toSorted());
  });
});

describe("the approval gate", () => {
  it("publishes and describes each change once", async () => {
    const { pass, described } = aGate();
    expect((await pass([ROUTE])).announced).toMatchObject([
      { id: stepId(ROUTE), unit: ROUTE.unit, object: `Node of ${ROUTE.unit}`, summary: "do it", text: ["+ it"] },
    ]);
    expect((await pass([ROUTE])).announced).toEqual([]);
    expect(described).toEqual([ROUTE.unit]);
  });

  it("shows a change as approved, and by whom, until it is made", async () => {
    const { pass, approve, map } = aGate();
    await pass([ROUTE, REMOVAL]);
    approve(ROUTE);
    expect(parsePending(map.data)).toMatchObject({
      waiting: [{ unit: REMOVAL.unit }],
      approved: [{ step: { unit: ROUTE.unit }, by: "ann" }],
    });
  });

  it("decides for each change alone: a new one voids no approval", async () => {
    const { pass, approve, waiting } = aGate();
    await pass([ROUTE]);
    approve(ROUTE);
    const passed = await pass([REMOVAL, ROUTE, change(TYPE)]);
    expect(passed.plan).toEqual([ROUTE]);
    expect(passed.approved).toMatchObject([{ step: { unit: ROUTE.unit }, by: "ann" }]);
    expect(waiting().toSorted()).toEqual([UNIT, REMOVAL.unit].toSorted());
  });

  it("lets a half-done change continue, and asks again once the unit was as wanted", async () => {
    const { pass, approve, map } = aGate();
    const both = change(ALGORITHM, TYPE);
    await pass([both]);
    approve(both);
    expect((await pass([both])).plan).toEqual([both]);
    expect(map.data, "the approval is used up").toEqual({});
    expect((await pass([change(TYPE)])).plan).toEqual([change(TYPE)]);
    await pass([]);
    expect((await pass([change(TYPE)])).plan).toEqual([]);
  });

  it("asks again when a half-done change has grown: what was not approved waits, and the rest with it", async () => {
    const { pass, approve } = aGate();
    await pass([change(ALGORITHM)]);
    approve(change(ALGORITHM));
    await pass([change(ALGORITHM)]);
    expect((await pass([change(ALGORITHM, TYPE)])).plan).toEqual([]);
    expect((await pass([change(ALGORITHM)])).plan, "what was approved continues").toEqual([change(ALGORITHM)]);
  });

  it("asks again as soon as a run has brought the unit to what was wanted, also without a turn in between", async () => {
    const { pass, approve, forget } = aGate();
    await pass([change(ALGORITHM), ROUTE]);
    approve(change(ALGORITHM), ROUTE);
    await pass([change(ALGORITHM), ROUTE]);
    forget([ROUTE]);
    expect((await pass([change(ALGORITHM), ROUTE])).plan, "only what is not done continues").toEqual([ROUTE]);
  });

  it("lets a change continue that was under way in between", async () => {
    const { pass, approve } = aGate();
    const both = change(ALGORITHM, TYPE);
    await pass([both]);
    approve(both);
    await pass([both]);
    await pass([], [], [change(TYPE)]);
    expect((await pass([change(TYPE)])).plan).toEqual([change(TYPE)]);
  });

  it.each<[string, Plan, Plan]>([
    ["is to be changed", [change(TYPE)], []],
    ["is to be changed, while its removal is under way", [], [change(TYPE)]],
  ])("asks again for the removal of a unit that in between %s", async (_, plan, underWay) => {
    const { pass, approve } = aGate("deletions");
    const removal = { kind: "remove", unit: UNIT, asked: true, differences: [existence(UNIT)] } as const;
    await pass([removal]);
    approve(removal);
    expect((await pass([removal])).plan).toEqual([removal]);
    expect((await pass([], [], [removal])).plan).toEqual([]);
    expect((await pass([removal])).plan, "the removal failed, and is repeated").toEqual([removal]);
    await pass(plan, [], underWay);
    expect((await pass([removal])).plan).toEqual([]);
  });

  it.each([
    ["a field in addition", change(ALGORITHM, TYPE)],
    ["another value", change({ ...ALGORITHM, want: "x" })],
    ["another state", change({ ...ALGORITHM, have: "x" })],
    ["the unit's removal", { kind: "remove", unit: UNIT, asked: true, differences: [ALGORITHM] } as const],
  ])("does not take the approval of a change for %s", async (_, other) => {
    const { pass, approve } = aGate();
    await pass([change(ALGORITHM)]);
    approve(change(ALGORITHM));
    expect((await pass([other])).plan).toEqual([]);
  });

  it("ignores an approval of what was never published, and one whose text belongs to another unit", async () => {
    const { pass, approve, map } = aGate();
    approve(ROUTE);
    expect((await pass([ROUTE])).plan).toEqual([]);
    await pass([ROUTE]);
    const key = `step.${stepId(ROUTE)}`;
    map.data = { ...map.data, [key]: (map.data[key] ?? "").replace(ROUTE.unit, REMOVAL.unit) };
    approve(ROUTE);
    expect((await pass([ROUTE])).plan).toEqual([]);
  });

  it("keeps an approval that arrives while it describes another change", async () => {
    const { pass, approve, duringDescription } = aGate();
    await pass([ROUTE]);
    duringDescription(() => approve(ROUTE));
    expect((await pass([REMOVAL, ROUTE])).plan).toEqual([]);
    expect((await pass([REMOVAL, ROUTE])).plan).toEqual([ROUTE]);
  });

  it("makes no change whose approval it cannot use up", async () => {
    const { pass, approve, map } = aGate();
    await pass([ROUTE]);
    approve(ROUTE);
    map.isReadOnly = true;
    expect((await pass([ROUTE])).plan).toEqual([]);
    map.isReadOnly = false;
    expect((await pass([ROUTE])).plan).toEqual([ROUTE]);
  });

  it("holds back what needs approval while approvals cannot be read", async () => {
    const { pass, map, lines } = aGate("deletions");
    map.isAway = true;
    expect(await pass([REMOVAL, ROUTE])).toMatchObject({ plan: [ROUTE], waiting: 1 });
    expect(lines.map(({ msg }) => msg)).toEqual(["approvals unreadable, holding back changes that need one"]);
  });

  it("reads nothing when nothing waits", async () => {
    const { pass, map } = aGate();
    await pass([]);
    await pass([]);
    expect(map.reads).toBe(1);
  });

  const routes = (count: number) =>
    Array.from({ length: count }, (_, index): PlannedUnit => ({ ...ROUTE, unit: `route/10.${index}.0.0/24` }));
  const LIMIT = 1_048_576;

  it.each([
    ["150 large changes", 150, "x".repeat(1_000), 150],
    ["150 large changes with wide characters", 150, "€\u0001".repeat(500), 150],
    ["1,000 large changes", 1_000, "x".repeat(1_000), 1_000],
    ["1,001 small changes", 1_001, "+ it", 1_001],
  ])("fits %s into a ConfigMap, with room for all approvals", async (_, count, line, published) => {
    const { pass, approve, map, waiting } = aGate();
    const plan = routes(count);
    await pass(
      plan,
      Array.from({ length: 2_000 }, () => line),
    );
    expect(waiting()).toHaveLength(published);
    approve(...plan);
    expect(Buffer.byteLength(JSON.stringify(map.data))).toBeLessThan(LIMIT);
    expect((await pass(plan)).plan).toEqual(plan);
  });

  it("publishes a plan that does not fit in parts: the next one follows when changes are approved", async () => {
    const { pass, approve, map, waiting } = aGate();
    let plan: Plan = routes(6_000);
    let parts = 0;
    for (; plan.length > 0; parts += 1) {
      expect((await pass(plan, ["x".repeat(1_000)])).waiting).toBe(plan.length);
      expect(Buffer.byteLength(JSON.stringify(map.data))).toBeLessThan(LIMIT);
      const published = new Set<string>(waiting());
      expect(published.size).toBeGreaterThan(500);
      const ready = plan.filter(({ unit }) => published.has(unit));
      approve(...ready);
      expect((await pass(plan)).plan).toEqual(ready);
      plan = plan.filter(({ unit }) => !published.has(unit));
    }
    expect(parts).toBeGreaterThan(1);
  });
});

describe("the id of a change", () => {
  it("has 128 bits, and stands for exactly this change in any order of its fields", () => {
    expect(stepId(ROUTE)).toMatch(/^[0-9a-f]{32}$/);
    expect(stepId(change(ALGORITHM, TYPE))).toBe(stepId(change(TYPE, ALGORITHM)));
    expect(stepId(change(ALGORITHM))).not.toBe(stepId(change({ ...ALGORITHM, have: "x" })));
  });
});

it.each([[{}], [{ "step.x": "not json" }], [{ "step.x": "{}" }], [{ "step.x": '{"id":"y","text":[]}' }]])(
  "ignores what cannot be parsed: %j",
  (data) => {
    expect(parsePending(data)).toEqual({ waiting: [], approved: [] });
  },
);
