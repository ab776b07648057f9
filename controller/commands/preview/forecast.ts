/** What the next run would change, as data for the terminal, Markdown and JSON outputs. */

import { defined } from "../../../stacks/units/defined.ts";
import type { UnitId } from "../../../stacks/units/spec.ts";
import { type Plan, wantedSpecs } from "../../guard/plan.ts";
import type { Prices } from "../../hcloud/prices.ts";
import { costOf, type ForecastContext, forecastUnit, type UnitForecast } from "../../record/forecast.ts";
import type { Rendered } from "../../render/cluster.ts";
import { type Refusal, refusalsOf } from "../../render/refusals.ts";
import { EXIT, type Place } from "../output.ts";
import { eventNotes } from "./event-notes.ts";

/** All changes of the next run. The JSON output. */
export interface Forecast extends Place {
  readonly units: readonly UnitForecast[];
  /** Invalid objects, with their mistakes. The settings concerned stay as they are. */
  readonly refused: readonly Refusal[];
  /** Why the guard would hold back removals, if it would. */
  readonly heldBack?: string;
  /** Assumptions, and what could not be determined. */
  readonly notes: readonly string[];
  /** Monthly price of all load balancers of the cluster. */
  readonly cost?: { readonly currency: string; readonly before: number; readonly after: number };
}

interface ForecastInput extends ForecastContext {
  readonly place: Place;
  readonly plan: Plan;
  readonly heldBack?: string | undefined;
  readonly notes: readonly string[];
  /** Manifests that the API server would reject. */
  readonly refused?: readonly Refusal[];
}

/** Combines the plan with the engine's preview, reasons and prices. */
export function renderForecast(input: ForecastInput): Forecast {
  const { place, context, plan, heldBack, notes, refused = [], prices } = input;
  const cost = prices && totalCost(context.rendered, plan, prices);
  return {
    ...place,
    units: plan.map((step) => forecastUnit(step, input)),
    refused: [...refused, ...refusalsOf(context.rendered)],
    ...defined({ heldBack }),
    notes: [...eventNotes(context.rendered, plan, context.nodes), ...notes],
    ...(prices && cost && { cost: { currency: prices.currency, ...cost } }),
  };
}

/** The exit code for a forecast: the worst that applies. */
export function exitCodeOf({ units, refused, heldBack }: Forecast): number {
  if (units.some(({ failure }) => failure !== undefined)) return EXIT.error;
  if (refused.length > 0 || heldBack !== undefined) return EXIT.refused;
  return units.length > 0 ? EXIT.changes : EXIT.nothing;
}

/** Price of all load balancers, including unchanged ones. */
function totalCost(rendered: Rendered, plan: Plan, prices: Prices) {
  const wanted = wantedSpecs(rendered);
  const removed = new Set(plan.filter(({ kind }) => kind === "remove").map(({ unit }) => unit));
  const units = new Set([...(Object.keys(rendered.existing) as UnitId[]), ...wanted.keys()]);
  let [before, after] = [0, 0];
  for (const unit of units) {
    const cost = costOf(unit, wanted.get(unit), rendered, prices);
    before += cost.before ?? 0;
    after += removed.has(unit) ? 0 : (cost.after ?? cost.before ?? 0);
  }
  return { before: inCents(before), after: inCents(after) };
}

function inCents(amount: number): number {
  return Math.round(amount * 100) / 100;
}
