import { describe, expect, it } from "vitest";
import { approved, describePlan } from "../../../../../controller/commands/record/approve.ts";
import { auditText, parseAge, select } from "../../../../../controller/commands/record/audit.ts";
import { pendingPlan } from "../../../../../controller/guard/approval.ts";
import type { AuditEntry } from "../../../../../controller/record/entry.ts";
import { aRoute } from "../../../../support/builders.ts";

const CHANGE: AuditEntry = {
  kind: "change",
  at: "2026-11-16T12:00:00.000Z",
  run: "r1",
  unit: "u",
  object: "Service default/web",
  differences: [{ field: "type", from: "lb11", to: "lb21", reason: "because" }],
};
const WRITE: AuditEntry = {
  kind: "write",
  at: "2026-11-16T12:00:01.000Z",
  run: "r1",
  unit: "u",
  method: "POST",
  path: "/load_balancers/1/actions/change_type",
  status: 201,
  durationMs: 40,
};
const OUTCOME: AuditEntry = {
  kind: "outcome",
  at: "2026-11-16T12:00:02.000Z",
  run: "r1",
  unit: "u",
  status: "applied",
  operations: ["update balancer"],
};

describe("the record in a terminal", () => {
  it("shows what changed, why, each request, and the outcome", () => {
    expect(auditText([CHANGE, WRITE, OUTCOME])).toBe(`2026-11-16T12:00:00.000Z  Service default/web  applied  (run r1)
    type: lb11 → lb21   (because)
    POST /load_balancers/1/actions/change_type  201  40 ms
`);
  });

  it("shows what is unknown: an outcome lost in a crash, a response that never came", () => {
    expect(auditText([CHANGE, { ...WRITE, status: 0 }])).toMatch(/outcome unknown[\s\S]*no response/);
    expect(auditText([])).toBe("no changes on record\n");
  });

  it("can be filtered by object and time", () => {
    const other: AuditEntry = { ...CHANGE, unit: "v", object: "Service default/other" };
    const all = [CHANGE, WRITE, OUTCOME, other];
    expect(select(all, { object: "default/web" })).toEqual([CHANGE, WRITE, OUTCOME]);
    expect(select(all, { object: "Service default/other" })).toEqual([other]);
    expect(select(all, { after: "2026-11-16T12:00:01.000Z" })).toEqual([WRITE, OUTCOME]);
    expect(select(all, {})).toEqual(all);
  });
});

it.each([
  ["90s", 90_000],
  ["15m", 900_000],
  ["1h", 3_600_000],
  ["7d", 604_800_000],
  [undefined, undefined],
])("parses the age %s", (text, expected) => {
  expect(parseAge(text)).toBe(expected);
});

it.each(["1", "h", "-1h", "1w", "1.5h", ""])("rejects %j as an age", (text) => {
  expect(() => parseAge(text)).toThrow(/--since: .* is not a time such as/);
});

describe("an approval", () => {
  const spec = aRoute("10.1.0.0/24", "10.0.0.1");
  const plan = pendingPlan(
    [{ kind: "make", unit: "route/10.1.0.0/24", spec, differences: [{ field: "gateway", want: "10.0.0.1" }] }],
    () => "Node node-1",
    new Date("2026-11-16T12:00:00Z"),
  );
  const data = { plan: JSON.stringify(plan) };
  const approval = { plan: plan.id, by: "ann", at: "now" };

  it("is stored next to the plan", () => {
    expect(approved(data, plan.id, approval)).toEqual({ ...data, approval: JSON.stringify(approval) });
  });

  it("of an outdated plan is refused, and names the pending one", () => {
    expect(() => approved(data, "0000000000", approval)).toThrow(
      `plan 0000000000 is outdated: review the current one (${plan.id})`,
    );
    expect(() => approved({}, plan.id, approval)).toThrow("no plan is pending");
  });

  it("is shown with its plan", () => {
    expect(describePlan(plan, undefined)).toBe(`plan ${plan.id} pending since 2026-11-16T12:00:00.000Z
~ Node node-1 (route/10.1.0.0/24)
    gateway: (none) → 10.0.0.1
approve with: lotse approve ${plan.id}
`);
    expect(describePlan(plan, approval)).toContain("approved by ann");
    expect(describePlan(undefined, undefined)).toBe("no plan is pending\n");
  });
});
