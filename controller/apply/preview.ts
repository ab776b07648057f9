/** Previews a plan in the engine, and puts it into words. */
import type { Engine } from "../../stacks/engine/engine.ts";
import type { RunReport, UnitOutcome } from "../../stacks/engine/run.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { Description } from "../guard/approval.ts";
import { type Plan, portionsOf } from "../guard/plan.ts";
import type { Gateway } from "../hcloud/gateway.ts";
import { type ForecastContext, forecastUnit } from "../record/forecast.ts";
import { unitSummary, unitText } from "../record/forecast-text.ts";
import type { Rendered } from "../render/cluster.ts";
import { inSlices } from "../work/steps.ts";
import { runRequest } from "./request.ts";

type Outcomes = RunReport["outcomes"];

interface Previewing {
  readonly engine: Pick<Engine, "run">;
  readonly gateway: Pick<Gateway, "open">;
}

/** The engine's preview of a plan. The gateway lets only reads pass, whatever the engine tries. */
export async function previewRun({ engine, gateway }: Previewing, plan: Plan, rendered: Rendered): Promise<Outcomes> {
  const access = gateway.open({ run: "preview", mode: "preview" });
  const outcomes: Record<string, UnitOutcome> = {};
  try {
    for (const steps of portionsOf(plan))
      Object.assign(outcomes, (await engine.run(runRequest("preview", steps, rendered, access))).outcomes);
    return outcomes;
  } finally {
    await access.close();
  }
}

/** Repeats a preview that fails: it changes nothing, and people shall see what would happen, not that the engine died. */
export async function previewTwice(
  parts: Previewing & { readonly log: Logger },
  plan: Plan,
  rendered: Rendered,
): Promise<Outcomes> {
  const outcomes = await previewRun(parts, plan, rendered);
  const failed = Object.entries(outcomes).filter(([, { status }]) => status === "failed");
  if (failed.length === 0) return outcomes;
  parts.log.warn({ failed: Object.fromEntries(failed) }, "preview failed, retrying once");
  return previewRun(parts, plan, rendered);
}

/** The steps of a plan in words. */
export function describePlan(plan: Plan, input: ForecastContext): Promise<readonly Description[]> {
  return inSlices(describeInSteps(plan, input));
}

function* describeInSteps(plan: Plan, input: ForecastContext): Generator<void, readonly Description[]> {
  const described: Description[] = [];
  for (const step of plan) {
    const forecast = forecastUnit(step, input);
    const currency = input.prices?.currency;
    const [text, summary] = [unitText(forecast, currency), unitSummary(forecast, currency)];
    described.push({ unit: step.unit, object: forecast.object, summary, text });
    yield;
  }
  return described;
}
