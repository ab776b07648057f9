/** What a run would do to one unit: the engine's steps with reasons and prices. Pure. */
import type { Change, RunReport } from "../../stacks/engine/run.ts";
import { defined } from "../../stacks/units/defined.ts";
import { type Difference, existence } from "../../stacks/units/difference.ts";
import { comparePartNames, listenerPart, targetPart } from "../../stacks/units/names.ts";
import type { LoadBalancerSpec, UnitId, UnitSpec } from "../../stacks/units/spec.ts";
import type { PlannedUnit } from "../guard/plan.ts";
import type { Prices } from "../hcloud/prices.ts";
import type { Rendered } from "../render/cluster.ts";
import { balancerIn } from "../render/intents.ts";
import { customFields } from "./as-applied.ts";
import { objectOf, type ReasonContext, type ReasonedField, reasonFor } from "./reason.ts";

/** One resource of a unit. */
export interface PartForecast {
  readonly part: string;
  readonly operation: Change["operation"];
  /** A new resource in a few words. */
  readonly summary?: string;
  readonly reason: string;
  /** What differs; of a new resource, what differs from the defaults. */
  readonly fields: readonly ReasonedField[];
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

/** What forecasts are made from, besides the plan. */
export interface ForecastContext {
  readonly context: ReasonContext;
  /** Outcomes of the engine's preview. */
  readonly outcomes: RunReport["outcomes"];
  readonly prices?: Prices;
}

/** The forecast for one step of a plan. */
export function forecastUnit(step: PlannedUnit, { context, outcomes, prices }: ForecastContext): UnitForecast {
  const outcome = outcomes[step.unit];
  const changes = outcome?.changes ?? [];
  const isExtended = changes.some(({ operation }) => operation === "create");
  const customFields = isExtended ? customFieldsOf(step, context.rendered) : [];
  const cost = prices && costOf(step.unit, step.kind === "make" ? step.spec : undefined, context.rendered, prices);
  return {
    unit: step.unit,
    object: objectOf(step, context),
    action: actionOf(step, context.rendered),
    parts: changes
      .toSorted((a, b) => comparePartNames(a.part, b.part))
      .map((change) => forecastPart(change, step, { context, customFields })),
    ...(cost && Object.keys(cost).length > 0 && { cost }),
    ...(outcome?.status === "failed" && { failure: outcome.failure.message }),
  };
}

function actionOf({ unit, kind }: PlannedUnit, { existing, services }: Rendered): UnitForecast["action"] {
  if (kind === "remove") return "delete";
  const intent = services.find((candidate) => candidate.unit === unit);
  if (intent?.kind === "balance" && intent.adopts !== undefined) return "adopt";
  return existing[unit] ? "change" : "create";
}

interface PartContext extends Pick<ForecastContext, "context"> {
  /** What differs from the defaults in the unit's new resources. */
  readonly customFields: readonly Difference[];
}

function forecastPart(
  { part, operation }: Change,
  step: PlannedUnit,
  { context, customFields }: PartContext,
): PartForecast {
  const differing = step.differences.filter((difference) => difference.part === part);
  const isWhole = part === "balancer" && operation === "create";
  const [first = existence(step.unit)] = isWhole ? [] : differing;
  const summary = operation === "create" && step.kind === "make" ? summaryOf(part, step.spec) : undefined;
  const fields = operation === "create" ? customFields : step.differences;
  return {
    part,
    operation,
    ...defined({ summary }),
    reason: reasonFor(step, first, context),
    fields: fields
      .filter((difference) => operation !== "delete" && difference.part === part)
      .map((difference) => ({
        field: difference.field,
        ...defined({ from: difference.have, to: difference.want }),
        reason: reasonFor(step, difference, context),
      })),
  };
}

function customFieldsOf(step: PlannedUnit, { services }: Rendered): readonly Difference[] {
  const intent = services.find(({ unit }) => unit === step.unit);
  return step.kind === "make" && step.spec.kind === "load-balancer" && intent
    ? customFields(step.spec, intent.service)
    : [];
}

function summaryOf(part: string, spec: UnitSpec): string | undefined {
  if (spec.kind === "route") return `${spec.destination} via ${spec.gateway}`;
  if (spec.kind === "load-balancer") return balancerSummary(part, spec);
  const { content } = spec;
  if (content.type === "uploaded") return `uploaded, SHA-256 ${content.fingerprint}`;
  return `managed, for ${content.domains.join(", ")}${content.isStaging ? ", by the staging authority" : ""}`;
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

/** Prices of a unit. */
export function costOf(unit: UnitId, spec: UnitSpec | undefined, { existing }: Rendered, prices: Prices): Cost {
  const balancer = balancerIn(existing, unit);
  const wanted = spec?.kind === "load-balancer" ? spec : undefined;
  const place = wanted && "location" in wanted.place ? wanted.place.location : undefined;
  return defined({
    before: balancer && prices.balancer(balancer.type, balancer.location),
    after: wanted && prices.balancer(wanted.type, place),
  });
}
