/** What leaving means for the cloud: everything of the cluster deleted, or left behind without owner. Pure. */
import type { V1Service } from "@kubernetes/client-node";
import { certificateUnit } from "../../../stacks/units/names.ts";
import type { LoadBalancerState, UnitId } from "../../../stacks/units/spec.ts";
import type { Absence, Doubt } from "../../apply/absence.ts";
import { FINALIZER } from "../../formats/finalizer.ts";
import { type Plan, planRun, removal } from "../../guard/plan.ts";
import { leaveCertificate, type OwnedCertificate } from "../../render/certificate/owned.ts";
import { type Rendered, type RenderOptions, renderCluster, type Snapshot } from "../../render/cluster.ts";
import type { ServiceIntent } from "../../render/intents.ts";
import { type Refusal, refusalsOf } from "../../render/refusals.ts";
import { intentOf, serviceName } from "../../render/service/ownership/ours.ts";
import { leaveBehind } from "../../render/service/ownership/retire.ts";

type RetireIntent = ServiceIntent & { readonly kind: "retire" };

/** `destroy` deletes what the cluster has, `release` leaves its balancers behind as they are. */
export type DepartureMode = "destroy" | "release";

export interface Departure {
  /** What it was planned from. */
  readonly snapshot: Snapshot;
  /** What is wanted, and what of it exists. */
  readonly rendered: Rendered;
  /** What is left to do in the cloud; empty when everything is gone or nobody's. */
  readonly plan: Plan;
  /** Services with our finalizer that have nothing in the cloud any more. */
  readonly services: readonly V1Service[];
  /** Services that have the finalizer now. */
  readonly claimed: readonly V1Service[];
  /** Services about whose balancers nobody can say which one is theirs. */
  readonly refused: readonly Refusal[];
}

/**
 * | what | `destroy` | `release` |
 * | --- | --- | --- |
 * | balancer of a Service | as if the Service were deleted: gone, unless it is protected, shared, or its annotation says keep | stays as it is, without owner |
 * | certificate made for a Service | gone, unless a balancer that stays presents it | stays, without owner |
 * | route to a node, or left over in the cluster's ranges | gone | stays |
 * | Service | has no address and no finalizer any more | has no finalizer any more |
 * | what is not this cluster's | stays | stays |
 */
export function planDeparture(mode: DepartureMode, snapshot: Snapshot, options: RenderOptions): Departure {
  const ours = snapshot.services.filter((service) => intentOf(service, options.classes) !== "none");
  const deleted = renderCluster({ ...snapshot, services: ours.map(asDeleted) }, options);
  const rendered = leavingCertificates(mode, mode === "release" ? leavingAll(deleted) : deleted);
  const { routes: _, ...balancers } = rendered;
  const routes = mode === "destroy" ? routesOf(rendered) : [];
  const refused = refusalsOf(balancers);
  const claimed = ours.filter(({ metadata }) => metadata?.finalizers?.includes(FINALIZER));
  const plan = [...planRun(balancers), ...routes.map((unit) => removal(unit, true))];
  return { snapshot, rendered, plan, services: settled(claimed, rendered), claimed, refused };
}

function asDeleted(service: V1Service): V1Service {
  const { metadata } = service;
  return { ...service, metadata: { ...metadata, deletionTimestamp: new Date(0), finalizers: [FINALIZER] } };
}

/** The same, with every balancer that would be deleted or taken apart left alone instead. */
function leavingAll(rendered: Rendered): Rendered {
  const existing = { ...rendered.existing };
  const services = rendered.services.map((intent): ServiceIntent => {
    const state = existing[intent.unit];
    if (intent.kind !== "retire" || state?.kind !== "load-balancer") return intent;
    const { spec, existing: seen, reason } = leaveBehind(intent.service, state, "the cluster is released");
    existing[intent.unit] = seen;
    return { ...intent, keeps: { spec, reason } };
  });
  return { ...rendered, services, existing };
}

/** The same, with certificates that stay left alone, without owner. Of several with the same content, one at a time. */
function leavingCertificates(mode: DepartureMode, rendered: Rendered): Rendered {
  const existing = { ...rendered.existing };
  const services = rendered.services.map((intent): ServiceIntent => {
    if (intent.kind !== "retire") return intent;
    const { owned, stale } = intent.certificates;
    const staying = owned.filter((certificate) => staysBehind(mode, certificate, intent, rendered));
    const left = new Map(staying.toReversed().map(({ state }) => [certificateUnit(state), state]));
    for (const [unit, state] of left) existing[unit] = state;
    const specs = [...left.values()].map(leaveCertificate);
    return { ...intent, certificates: { owned, stale: mode === "release" ? [] : stale, left: specs } };
  });
  return { ...rendered, services, existing };
}

function staysBehind(
  mode: DepartureMode,
  { isUsed }: OwnedCertificate,
  { unit, keeps }: RetireIntent,
  { existing }: Rendered,
) {
  const isFinal = keeps !== undefined || existing[unit] === undefined;
  return mode === "release" || (isUsed && isFinal);
}

function routesOf({ existing }: Rendered): readonly UnitId[] {
  return (Object.keys(existing) as UnitId[]).filter((unit) => existing[unit]?.kind === "route");
}

/** On proof: the cloud lists nothing of theirs, or only what is protected. */
function settled(services: readonly V1Service[], { services: intents, existing }: Rendered): readonly V1Service[] {
  const isSettled = (intent: ServiceIntent) => {
    if (intent.kind !== "retire") return false;
    const { stale, left = [] } = intent.certificates;
    if (stale.length > 0 || left.length > 0) return false;
    return !existing[intent.unit] || (!intent.keeps && isProtected(existing[intent.unit]));
  };
  const done = new Set(intents.filter(isSettled).map(({ service }) => service.metadata?.uid));
  return services.filter(({ metadata }) => done.has(metadata?.uid));
}

function isProtected(state: Rendered["existing"][UnitId]): state is LoadBalancerState {
  return state?.kind === "load-balancer" && state.deleteProtection;
}

/** Services that would be let go if it were proven that nothing of theirs is left in the cloud. */
export async function unproven({ rendered, services }: Departure, absence: Absence): Promise<readonly Doubt[]> {
  const uids = new Set(services.map(({ metadata }) => metadata?.uid));
  return (await absence.unproven(rendered)).filter(({ intent }) => uids.has(intent.service.metadata?.uid));
}

/** One thing in the cloud, and what becomes of it. */
export interface Disposition {
  /** `Service default/web`, `certificate web-tls`, `route 10.244.1.0/24`. */
  readonly object: string;
  readonly disposition: "deleted" | "left behind" | "stays";
  /** What it is: its name, id and addresses; and why it stays. */
  readonly what: string;
}

/** Everything that leaving is about, in order. */
export function dispositionsOf({ rendered, plan }: Departure): readonly Disposition[] {
  const steps = new Map(plan.map((step) => [step.unit, step]));
  const balancers = rendered.services.flatMap((intent): readonly Disposition[] => {
    const state = rendered.existing[intent.unit];
    if (intent.kind !== "retire" || state?.kind !== "load-balancer") return [];
    const step = steps.get(intent.unit);
    const disposition = !step ? "stays" : step.kind === "remove" ? "deleted" : "left behind";
    const why = intent.keeps ? `: ${intent.keeps.reason}` : step ? "" : ": it is protected against deletion";
    return [{ object: `Service ${serviceName(intent.service)}`, disposition, what: `${balancerText(state)}${why}` }];
  });
  const routes = plan
    .filter(({ unit }) => unit.startsWith("route/"))
    .map(({ unit }): Disposition => {
      const what = gatewayText(rendered.existing[unit]);
      return { object: unit.replace("/", " "), disposition: "deleted", what };
    });
  return [...balancers, ...rendered.services.flatMap(certificateFates), ...routes];
}

function certificateFates(intent: ServiceIntent): readonly Disposition[] {
  if (intent.kind !== "retire") return [];
  const left = new Set(intent.certificates.left?.map(({ name }) => name));
  return intent.certificates.owned.map(({ listed: { id, name, domain_names } }) => ({
    object: `certificate ${name}`,
    disposition: left.has(name) ? "left behind" : "deleted",
    what: `id ${id}, for ${domain_names.join(", ")}, of Service ${serviceName(intent.service)}`,
  }));
}

function balancerText({ name, id, ipv4, ipv6 }: LoadBalancerState): string {
  const addresses = [ipv4, ipv6].filter((address) => address !== undefined);
  return [`load balancer ${name} (id ${id})`, ...addresses].join(", ");
}

function gatewayText(state: Rendered["existing"][UnitId]): string {
  return state?.kind === "route" ? `via ${state.gateway}` : "";
}
