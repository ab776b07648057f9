import { expect, it } from "vitest";
import { Runner } from "../../../../controller/apply/runner.ts";
import { planRun } from "../../../../controller/guard/plan.ts";
import { changeEntries } from "../../../../controller/record/entry.ts";
import { renderCluster } from "../../../../controller/render/cluster.ts";
import type { Change } from "../../../../stacks/engine/run.ts";
import { targetPart, unitOf } from "../../../../stacks/units/names.ts";
import type { UnitSpec } from "../../../../stacks/units/spec.ts";
import { aRenderOptions } from "../../../support/builders.ts";
import { manyServices } from "../../../support/crowded.ts";
import { longestStepMs } from "../../../support/event-loop.ts";
import { aLog } from "../../../support/log.ts";

/** More than the limit of 100 ms, because code that runs for the first time is slow. */
const MOST_MS = 400;

/** A thousand Services that have no load balancer yet. */
function aCrowd() {
  const { cloud, ...observed } = manyServices(1_000, 100);
  const { servers } = cloud;
  const { defaults, ...options } = aRenderOptions();
  const rendered = renderCluster({ ...observed, cloud: { ...cloud, loadBalancers: [] } }, { ...options, defaults });
  return { plan: planRun(rendered), rendered, context: { rendered, nodes: observed.nodes, servers, defaults } };
}

/** What the engine would create for a load balancer. */
function created(spec: UnitSpec): readonly Change[] {
  const targets = spec.kind === "load-balancer" ? spec.targets.map(targetPart) : [];
  const parts = ["balancer", "listener-80", "listener-443", ...targets];
  return parts.map((part) => ({ unit: unitOf(spec), part, operation: "create", fields: [] }));
}

it("a thousand new load balancers that wait for approval do not block the event loop", {
  timeout: 60_000,
}, async () => {
  const { plan, rendered, context } = aCrowd();
  const runner = new Runner({
    engine: {
      prepare: () => {},
      run: async ({ units }) => ({
        outcomes: Object.fromEntries(
          units.map((spec) => [unitOf(spec), { status: "applied", changes: created(spec) }]),
        ),
        durationMs: 1,
      }),
    },
    gateway: {
      reserve: () => ({ endpoint: "", token: "" }),
      open: () => ({ endpoint: "", token: "", close: async () => {} }),
    },
    context: async () => context,
    log: aLog().log,
  });
  expect(await longestStepMs(() => runner.preview(plan, rendered))).toBeLessThan(MOST_MS);
});

it("nor do the entries of a run that changes a thousand", { timeout: 60_000 }, async () => {
  const { plan, context } = aCrowd();
  const record = async () => changeEntries({ run: "1", at: new Date() }, plan, context);
  expect(await longestStepMs(record)).toBeLessThan(MOST_MS);
});
