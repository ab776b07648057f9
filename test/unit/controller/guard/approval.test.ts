import { describe, expect, it } from "vitest";
import {
  type ApprovalMode,
  parseStored,
  pendingPlan,
  planId,
  type StoredPlan,
  waitingSteps,
} from "../../../../controller/guard/approval.ts";
import { ApprovalGate } from "../../../../controller/guard/approval-gate.ts";
import type { Plan, PlannedUnit } from "../../../../controller/guard/plan.ts";
import { loadBalancerUnit } from "../../../../stacks/units/names.ts";
import { aBalancerSpec, aRoute, UID } from "../../../support/builders.ts";
import { aLog } from "../../../support/log.ts";

const UNIT = loadBalancerUnit({ namespace: "default", name: "web", uid: UID });
const ALGORITHM = { field: "algorithm", want: "least_connections", have: "round_robin" };
const TYPE = { field: "type", want: "lb21", have: "lb11" };
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
  differences: [{ field: "gateway", want: "10.0.0.1" }],
};
const AT = new Date("2026-11-16T12:00:00Z");
const published = (plan: Plan) => pendingPlan(plan, ({ unit }) => unit, AT);
const approvedPlan = (plan: Plan): StoredPlan => {
  const stored = published(plan);
  return { plan: stored, approval: { plan: stored.id, by: "ann", at: "" } };
};

describe("what waits for approval", () => {
  const all: Plan = [change(ALGORITHM), REMOVAL, ROUTE];
  const rows: readonly [string, ApprovalMode, Plan, StoredPlan, Plan][] = [
    ["nothing, when nothing needs it", "none", all, {}, []],
    ["removals, when they do", "deletions", all, {}, [REMOVAL]],
    ["everything, when everything does", "manual", all, {}, all],
    ["nothing that was approved", "manual", all, approvedPlan(all), []],
    ["all that was published and not approved", "manual", all, { plan: published(all) }, all],
    ["nothing of an approved plan that is half done", "manual", [ROUTE], approvedPlan(all), []],
    [
      "nothing of an approved change that is half done",
      "manual",
      [change(TYPE)],
      approvedPlan([change(ALGORITHM, TYPE)]),
      [],
    ],
    ["all, when something came in addition", "manual", all, approvedPlan([ROUTE]), all],
    [
      "all, when a field came in addition",
      "manual",
      [change(ALGORITHM, TYPE)],
      approvedPlan([change(ALGORITHM)]),
      [change(ALGORITHM, TYPE)],
    ],
    [
      "all, when a field is to become something else",
      "manual",
      [change({ ...TYPE, want: "lb31" })],
      approvedPlan([change(TYPE)]),
      [change({ ...TYPE, want: "lb31" })],
    ],
    [
      "all, when what exists is something else",
      "manual",
      [change({ ...TYPE, have: "lb31" })],
      approvedPlan([change(TYPE)]),
      [change({ ...TYPE, have: "lb31" })],
    ],
    [
      "all, when another plan was approved",
      "manual",
      [ROUTE],
      { plan: published([ROUTE]), approval: { plan: "0000000000", by: "ann", at: "" } },
      [ROUTE],
    ],
    [
      "all, when the published plan was edited",
      "manual",
      [REMOVAL],
      { ...approvedPlan([ROUTE]), plan: { ...published([ROUTE]), steps: published([REMOVAL]).steps } },
      [REMOVAL],
    ],
  ];
  it.each(rows)("is %s", (_, mode, plan, stored, expected) => {
    expect(waitingSteps(plan, mode, stored)).toEqual(expected);
  });
});

describe("the ID of a plan", () => {
  it("is a hash of its steps, in any order", () => {
    expect(planId([change(ALGORITHM, TYPE), ROUTE])).toBe(planId([ROUTE, change(TYPE, ALGORITHM)]));
    expect(planId([ROUTE])).not.toBe(planId([ROUTE, REMOVAL]));
    expect(planId([change(ALGORITHM)])).not.toBe(planId([change({ ...ALGORITHM, have: "x" })]));
    expect(planId([ROUTE])).toMatch(/^[0-9a-f]{10}$/);
  });
});

it.each([
  [{}],
  [{ plan: "not json", approval: "null" }],
  [{ plan: "{}", approval: "[]" }],
  [{ plan: '"text"', approval: "{}" }],
])("treats what cannot be parsed as absent: %j", (data) => {
  expect(parseStored(data)).toEqual({});
});

/** A gate with a ConfigMap in memory. */
function aGate(mode: ApprovalMode = "manual") {
  const map = { data: {} as Readonly<Record<string, string>>, updates: 0, isAway: false };
  const { log, lines } = aLog();
  const gate = new ApprovalGate({
    mode,
    map: {
      read: async () => {
        if (map.isAway) throw new Error("away");
        return map.data;
      },
      update: async (update) => {
        map.updates += 1;
        map.data = update(map.data);
      },
    },
    log,
  });
  const pass = (plan: Plan) => gate.pass(plan, ({ unit }) => unit);
  const approve = () => {
    const id = parseStored(map.data).plan?.id ?? "";
    map.data = { ...map.data, approval: JSON.stringify({ plan: id, by: "ann", at: "" }) };
  };
  return { map, lines, pass, approve };
}

describe("the approval gate", () => {
  it("publishes what waits, announces it once, and lets the rest pass", async () => {
    const { map, pass } = aGate("deletions");
    const removal: PlannedUnit = { kind: "remove", unit: UNIT, asked: true, differences: [] };
    const first = await pass([removal, ROUTE]);
    expect(first.plan).toEqual([ROUTE]);
    expect(first.pending?.steps).toMatchObject([{ unit: UNIT, kind: "remove" }]);
    expect(first.announced).toEqual([removal]);
    const again = await pass([removal, ROUTE]);
    expect(again).toEqual({ plan: [ROUTE], pending: expect.objectContaining({ id: first.pending?.id }) });
    expect(map.updates).toBe(1);
  });

  it("lets an approved plan pass, and removes it when it is applied: the same changes wait again later", async () => {
    const { map, pass, approve } = aGate();
    await pass([ROUTE]);
    approve();
    expect((await pass([ROUTE])).plan).toEqual([ROUTE]);
    await pass([]);
    expect(map.data).toEqual({});
    expect((await pass([ROUTE])).plan).toEqual([]);
    expect(parseStored(map.data).plan?.id).toBe(planId([ROUTE]));
  });

  it("ignores the approval of an outdated plan, and publishes the new one", async () => {
    const { map, pass, approve, lines } = aGate();
    await pass([ROUTE]);
    approve();
    const { plan, pending } = await pass([ROUTE, REMOVAL]);
    expect(plan).toEqual([]);
    expect(parseStored(map.data)).toEqual({ plan: JSON.parse(JSON.stringify(pending)) });
    expect(lines.map(({ msg }) => msg)).toContain("approval is outdated: the plan has changed");
  });

  it("publishes a deleted plan again", async () => {
    const { map, pass } = aGate();
    await pass([ROUTE]);
    map.data = {};
    await pass([ROUTE]);
    expect(parseStored(map.data).plan?.id).toBe(planId([ROUTE]));
  });

  it("removes a plan that is no longer needed", async () => {
    const { map, pass } = aGate();
    await pass([ROUTE]);
    await pass([]);
    expect(map.data).toEqual({});
  });

  it("holds back everything that needs approval while it cannot read approvals", async () => {
    const { map, pass } = aGate("deletions");
    map.isAway = true;
    expect((await pass([ROUTE, REMOVAL])).plan).toEqual([ROUTE]);
  });
});
