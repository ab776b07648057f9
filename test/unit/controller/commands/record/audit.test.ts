import { describe, expect, it } from "vitest";
import { pendingText, selectSteps } from "../../../../../controller/commands/record/approve.ts";
import { auditText, parseAge, select } from "../../../../../controller/commands/record/audit.ts";
import type { AuditEntry } from "../../../../../controller/record/entry.ts";

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
    expect(auditText([CHANGE, WRITE, OUTCOME])).toBe(`1 entry on record
2026-11-16T12:00:00.000Z  Service default/web  applied: update balancer  (run r1)  because
`);
    expect(auditText([CHANGE, WRITE, OUTCOME], true)).toBe(`1 entry on record

2026-11-16T12:00:00.000Z  Service default/web  applied: update balancer  (run r1)
    type: lb11 → lb21   (because)
    POST /load_balancers/1/actions/change_type  201  40 ms
`);
  });

  it("shows what is unknown: an outcome lost in a crash, a response that never came", () => {
    expect(auditText([CHANGE, { ...WRITE, status: 0 }], true)).toMatch(/outcome unknown[\s\S]*no response/);
    expect(auditText([])).toBe("no changes on record\n");
  });

  it("names the route of a Node's change", () => {
    const change: AuditEntry = { ...CHANGE, unit: "route/10.244.1.0/24", object: "Node node-1" };
    expect(auditText([change])).toContain("Node node-1: route 10.244.1.0/24  outcome unknown");
  });

  it("can be filtered by object and time", () => {
    const other: AuditEntry = { ...CHANGE, unit: "v", object: "Service default/other" };
    const all = [CHANGE, WRITE, OUTCOME, other];
    expect(select(all, { object: "default/web" })).toEqual([CHANGE, WRITE, OUTCOME]);
    expect(select(all, { object: "Service default/other" })).toEqual([other]);
    expect(select(all, { after: "2026-11-16T12:00:01.000Z" })).toEqual([WRITE, OUTCOME]);
    expect(select(all, {})).toEqual(all);
  });

  it("is an error for an object that it does not contain, and empty for one without recent changes", () => {
    expect(() => select([CHANGE], { object: "default/nope" })).toThrow('no changes of "default/nope" are on record');
    expect(select([CHANGE], { object: "default/web", after: "2027" })).toEqual([]);
  });
});

it.each([
  ["90s", 90_000],
  ["15m", 900_000],
  ["1h", 3_600_000],
  ["1h30m", 5_400_000],
  [undefined, undefined],
])("parses the age %s", (text, expected) => {
  expect(parseAge(text)).toBe(expected);
});

it.each(["1", "h", "-1h", "7d", "1w", "0", "9999999h", ""])("rejects %j as an age", (text) => {
  expect(() => parseAge(text)).toThrow(/--since: .* is not a duration with a unit/);
});

describe("changes that wait for approval", () => {
  const step = (id: string, object: string) => ({
    id: id.repeat(32),
    unit: "u",
    object,
    at: "2026-11-16T12:00:00.000Z",
    summary: "",
    text: [`+ ${object}   +5.39 EUR a month`, "    + balancer: lb11 in fsn1   (why)"],
  });
  const steps = [step("a", "Service default/web"), step("b", "Node node-1")];
  const next = (ids: readonly string[]) => `lotse approve ${ids.join(" ")} --context prod`;

  it("are shown as the preview shows them, each with the command that approves it", () => {
    expect(pendingText(steps.slice(0, 1), next)).toBe(`1 change waits for approval

+ Service default/web   +5.39 EUR a month
    + balancer: lb11 in fsn1   (why)
  waiting since 2026-11-16T12:00:00.000Z; approve with: lotse approve ${"a".repeat(32)} --context prod
`);
    expect(pendingText(steps, next)).toContain("2 changes wait for approval");
    expect(pendingText([], next)).toBe("no changes wait for approval\n");
  });

  it.each([
    ["all", [], ["a", "b"]],
    ["a Service", ["default/web"], ["a"]],
    ["a Node", ["node-1"], ["b"]],
    ["an id", ["b".repeat(32)], ["b"]],
    ["several ids", ["b".repeat(32), "a".repeat(32)], ["b", "a"]],
    ["several objects", ["node-1", "Service default/web"], ["b", "a"]],
  ])("are chosen by %s", (_, operands, expected) => {
    expect(selectSteps(steps, operands).map(({ id }) => id[0])).toEqual(expected);
  });

  it("are approved by ids alone: an object beside them would approve what was not shown", () => {
    expect(() => selectSteps(steps, ["b".repeat(32), "default/web"])).toThrow(
      "default/web is not an id, and only ids can be approved: `lotse approve default/web` shows the ids of its changes",
    );
  });

  it("are an error when one of them does not wait, with all mistakes at once", () => {
    expect(() => selectSteps(steps, ["default/nope", "node-1", "node-2"])).toThrow(
      /no change of default\/nope waits for approval: `lotse approve` lists .*no change of node-2 waits /s,
    );
    expect(() => selectSteps(steps, ["c".repeat(32)])).toThrow(/no change with the id c{32} waits /);
  });
});

it("an approval is an entry with who gave it", () => {
  const approval = {
    kind: "approval",
    at: "T",
    run: "a",
    unit: "u",
    object: "Service default/web",
    by: "ann",
  } as const;
  expect(auditText([approval])).toBe("1 entry on record\nT  Service default/web  approved by ann\n");
  expect(select([approval], { object: "default/web" })).toEqual([approval]);
});
