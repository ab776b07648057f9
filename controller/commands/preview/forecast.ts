/** What the next run would change, as data for the terminal, Markdown and JSON outputs. */

import type { Change, RunReport } from "../../../stacks/engine/run.ts";
import type { Difference } from "../../../stacks/units/difference.ts";
import { listenerPart, targetPart } from "../../../stacks/units/names.ts";
import type { LoadBalancerSpec, UnitId, UnitSpec } from "../../../stacks/units/spec.ts";
import { type Plan, type PlannedUnit, wantedSpecs } from "../../guard/plan.ts";
import { objectOf, type ReasonContext, reasonFor } from "../../guard/reason.ts";
import type { Prices } from "../../hcloud/prices.ts";
import type { Rendered } from "../../render/cluster.ts";
import { type Refusal, refusalsOf } from "../../render/refusals.ts";

/** One field of a resource, and why it changes. An absent side means that the field is not set there. */
export interface FieldForecast {
  readonly field: string;
  readonly from?: string;
  readonly to?: string;
  readonly reason: string;
}

/** One resource of a unit. */
export interface PartForecast {
  readonly part: string;
  readonly operation: Change["operation"];
  /** A new resource in a few words. */
  readonly summary?: string;
  readonly reason: string;
  /** What differs, for resources that are updated or replaced. */
  readonly fields: readonly FieldForecast[];
}

/** Net monthly prices. An absent side means that there is no load balancer, or that its price is unknown. */
export interface Cost {
  readonly before?: number;
  readonly after?: number;
}

/** One unit that would change. */
export interface UnitForecast {
  readonly unit: UnitId;
  /** The object it is for: `Service default/web`. */
  readonly object: string;
  readonly action: "create" | "adopt" | "change" | "delete";
  readonly parts: readonly PartForecast[];
  readonly cost?: Cost;
  /** The engine's error, if the change would fail. */
  readonly failure?: string;
}

/** All changes of the next run. The JSON output. */
export interface Forecast {
  readonly cluster: string;
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

interface ForecastInput {
  readonly cluster: string;
  readonly context: ReasonContext;
  readonly plan: Plan;
  readonly heldBack?: string;
  readonly outcomes: RunReport["outcomes"];
  readonly notes: readonly string[];
  readonly prices?: Prices;
}

/** Combines the plan with the engine's preview, reasons and prices. */
export function renderForecast(input: ForecastInput): Forecast {
  const { cluster, context, plan, heldBack, notes, prices } = input;
  const cost = prices && totalCost(context.rendered, plan, prices);
  return {
    cluster,
    units: plan.map((step) => forecastUnit(step, input)),
    refused: refusalsOf(context.rendered),
    ...(heldBack !== undefined && { heldBack }),
    notes,
    ...(prices && cost && { cost: { currency: prices.currency, ...cost } }),
  };
}

/** True when a run would change something. */
export function hasChanges({ units }: Forecast): boolean {
  return units.length > 0;
}

function forecastUnit(step: PlannedUnit, { context, outcomes, prices }: ForecastInput): UnitForecast {
  const outcome = outcomes[step.unit];
  const cost = prices && costOf(step.unit, step.kind === "make" ? step.spec : undefined, context.rendered, prices);
  return {
    unit: step.unit,
    object: objectOf(step, context),
    action: actionOf(step, context.rendered),
    parts: (outcome?.changes ?? []).toSorted(inOrder).map((change) => forecastPart(change, step, context)),
    ...(cost && Object.keys(cost).length > 0 && { cost }),
    ...(outcome?.status === "failed" && { failure: outcome.failure.message }),
  };
}

/** The load balancer first, then its parts, ports in numeric order. The engine's own order varies. */
function inOrder(a: Change, b: Change): number {
  const rank = ({ part }: Change) =>
    ["balancer", "network", "listener", "server", "ip"].indexOf(part.replace(/-.*/, ""));
  return rank(a) - rank(b) || a.part.localeCompare(b.part, "en", { numeric: true });
}

function actionOf({ unit, kind }: PlannedUnit, { existing, services }: Rendered): UnitForecast["action"] {
  if (kind === "remove") return "delete";
  const intent = services.find((candidate) => candidate.unit === unit);
  if (intent?.kind === "balance" && intent.adopts !== undefined) return "adopt";
  return existing[unit] ? "change" : "create";
}

/** The difference of a resource that does not exist. */
const EXISTENCE: Difference = { field: "existence", want: "present" };

function forecastPart({ part, operation }: Change, step: PlannedUnit, context: ReasonContext): PartForecast {
  const differing = step.differences.filter(({ field }) => partOf(field, step.unit) === part);
  const isWhole = part === "balancer" && operation === "create";
  const [first = EXISTENCE] = isWhole ? [] : differing;
  const summary = operation === "create" && step.kind === "make" ? summaryOf(part, step.spec) : undefined;
  const stays = operation === "update" || operation === "replace";
  return {
    part,
    operation,
    ...(summary !== undefined && { summary }),
    reason: reasonFor(step, first, context),
    fields: stays ? differing.map((difference) => forecastField(difference, step, context)) : [],
  };
}

function forecastField(difference: Difference, step: PlannedUnit, context: ReasonContext): FieldForecast {
  const { field, want, have } = difference;
  return {
    field: field.replace(/^(listener-\d+|target) /, ""),
    ...(have !== undefined && { from: have }),
    ...(want !== undefined && { to: want }),
    reason: reasonFor(step, difference, context),
  };
}

/** The part (resource) of a unit that a field belongs to. */
export function partOf(field: string, unit: UnitId): string {
  if (!unit.startsWith("load-balancer/")) return unit.split("/", 1)[0] ?? "";
  if (/^(network (id|ip)|public interface)$/.test(field)) return "network";
  return /^(listener-\d+) /.exec(field)?.[1] ?? /^target (.+)$/.exec(field)?.[1] ?? "balancer";
}

function summaryOf(part: string, spec: UnitSpec): string | undefined {
  if (spec.kind === "route") return `${spec.destination} via ${spec.gateway}`;
  return spec.kind === "load-balancer" ? balancerSummary(part, spec) : undefined;
}

function balancerSummary(part: string, spec: LoadBalancerSpec): string | undefined {
  const { place, network } = spec;
  if (part === "balancer") return `${spec.type} in ${"location" in place ? place.location : place.networkZone}`;
  if (part === "network" && network)
    return `network ${network.networkId}, public interface ${network.publicInterface ? "on" : "off"}`;
  const listener = spec.listeners.find(({ listenPort }) => listenerPart(listenPort) === part);
  if (listener) return `${listener.protocol} ${listener.listenPort} to node port ${listener.destinationPort}`;
  const target = spec.targets.find((candidate) => targetPart(candidate) === part);
  return target?.kind === "server" ? `${target.usePrivateIp ? "private" : "public"} address` : undefined;
}

function costOf(unit: UnitId, spec: UnitSpec | undefined, { existing }: Rendered, prices: Prices): Cost | undefined {
  const state = existing[unit];
  const balancer = state?.kind === "load-balancer" ? state : undefined;
  const before = balancer && prices.balancer(balancer.type, balancer.location);
  const place = spec?.kind === "load-balancer" && "location" in spec.place ? spec.place.location : undefined;
  const after = spec?.kind === "load-balancer" ? prices.balancer(spec.type, place) : undefined;
  return { ...(before !== undefined && { before }), ...(after !== undefined && { after }) };
}

/** Price of all load balancers, including unchanged ones. */
function totalCost(
  rendered: Rendered,
  plan: Plan,
  prices: Prices,
): { readonly before: number; readonly after: number } {
  const wanted = wantedSpecs(rendered);
  const removed = new Set(plan.filter(({ kind }) => kind === "remove").map(({ unit }) => unit));
  const units = new Set([...(Object.keys(rendered.existing) as UnitId[]), ...wanted.keys()]);
  let [before, after] = [0, 0];
  for (const unit of units) {
    const cost = costOf(unit, wanted.get(unit), rendered, prices);
    before += cost?.before ?? 0;
    after += removed.has(unit) ? 0 : (cost?.after ?? cost?.before ?? 0);
  }
  return { before: inCents(before), after: inCents(after) };
}

function inCents(amount: number): number {
  return Math.round(amount * 100) / 100;
}
