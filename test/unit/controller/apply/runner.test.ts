import { expect, it } from "vitest";
import { Runner } from "../../../../controller/apply/runner.ts";
import { removal } from "../../../../controller/guard/plan.ts";
import type { UnitOutcome } from "../../../../stacks/engine/run.ts";
import { existence } from "../../../../stacks/units/difference.ts";
import { unitOf } from "../../../../stacks/units/names.ts";
import { aBalancerSpec } from "../../../support/builders.ts";
import { aLog } from "../../../support/log.ts";

const SPEC = aBalancerSpec();
const UNIT = unitOf(SPEC);
const DIED: UnitOutcome = {
  status: "failed",
  changes: [],
  failure: { code: "worker-died", message: "the worker has died", retry: "soon" },
};
const FINE: UnitOutcome = {
  status: "applied",
  changes: [{ unit: UNIT, part: "balancer", operation: "create", fields: [] }],
};

it("hurries a run of several units, or if a change arrives after its turn began, also before the run does", async () => {
  const hurried: boolean[] = [];
  const rendered = { services: [], existing: {} };
  const runner = new Runner({
    engine: { run: async () => ({ outcomes: { [UNIT]: FINE }, durationMs: 1 }), prepare: () => {} },
    gateway: {
      open: ({ hurry }) => {
        hurried.push(hurry?.aborted ?? false);
        return { endpoint: "http://gateway", token: "t", close: async () => {} };
      },
      reserve: () => ({ endpoint: "http://gateway", token: "t" }),
    },
    context: async () => ({ rendered, nodes: [], servers: [], defaults: {} }),
    onArrival: () => {},
    log: aLog().log,
  });
  const plan = [{ kind: "make", unit: UNIT, spec: SPEC, differences: [existence(UNIT)] }] as const;
  runner.hurry(); // wakes the loop
  runner.startTurn();
  await runner.apply(plan, rendered, []);
  runner.startTurn();
  runner.hurry();
  await runner.apply(plan, rendered, []);
  runner.startTurn();
  await runner.apply([...plan, removal("route/10.0.0.0/24", true)], rendered, []);
  expect(hurried).toEqual([false, true, true]);
});

it.each([
  ["does not die", [FINE], /^create load balancer lb11 in fsn1/],
  ["dies once", [DIED, FINE], /^create load balancer lb11 in fsn1/],
  ["dies always", [DIED, DIED], /^create load balancer$/],
])("a preview is repeated once if its engine dies: it %s", async (_, outcomes, summary) => {
  const left = [...outcomes];
  const { log, lines } = aLog();
  const rendered = { services: [], existing: {} };
  const runner = new Runner({
    engine: { run: async () => ({ outcomes: { [UNIT]: left.shift() ?? FINE }, durationMs: 1 }), prepare: () => {} },
    gateway: {
      open: () => ({ endpoint: "http://gateway", token: "t", close: async () => {} }),
      reserve: () => ({ endpoint: "http://gateway", token: "t" }),
    },
    context: async () => ({ rendered, nodes: [], servers: [], defaults: {} }),
    prices: () => Promise.reject(new Error("a forecast needs none")),
    log,
  });
  const plan = [{ kind: "make", unit: UNIT, spec: SPEC, differences: [existence(UNIT)] }] as const;
  const [described] = await runner.preview(plan, rendered);
  expect(described?.summary).toMatch(summary);
  expect(left).toEqual([]);
  const repeated = { level: "warn", msg: "preview failed, retrying once" };
  expect(lines).toMatchObject(outcomes[0] === DIED ? [repeated] : []);
});
