/** What leaving means for the cloud: everything of the cluster deleted, or left behind without owner. Pure. */
import type { V1Service } from "@kubernetes/client-node";
import { certificateUnit } from "../../../stacks/units/names.ts";
import type { LoadBalancerState, UnitId } from "../../../stacks/units/spec.ts";
import type { Absence, Doubt } from "../../apply/absence.ts";
import { type Plan, planRun, removal } from "../../guard/plan.ts";
import { leaveCertificate, type OwnedCertificate } from "../../render/certificate/owned.ts";
import { type Desired, type RenderOptions, renderCluster, type Snapshot } from "../../render/cluster.ts";
import type { ServiceWish } from "../../render/intents.ts";
import { type Refusal, refusalsOf } from "../../render/refusals.ts";
import { FINALIZER, serviceName, wishOf } from "../../render/service/ownership/ours.ts";
import { leaveBehind } from "../../render/service/ownership/retire.ts";

type ReleaseWish = ServiceWish & { readonly kind: "release" };

/** `destroy` deletes what the cluster has, `release` leaves its balancers behind as they are. */
export type Way = "destroy" | "release";

export interface Departure {
  /** What it was planned from. */
  readonly snapshot: Snapshot;
  /** What is wanted, and what of it exists. */
  readonly desired: Desired;
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
export function planDeparture(way: Way, snapshot: Snapshot, options: RenderOptions): Departure {
  const ours = snapshot.services.filter((service) => wishOf(service, options.classes) !== "none");
  const rendered = renderCluster({ ...snapshot, services: ours.map(asDeleted) }, options);
  const desired = leavingCertificates(way, way === "release" ? leavingAll(rendered) : rendered);
  const { routes: _, ...balancers } = desired;
  const routes = way === "destroy" ? routesOf(desired) : [];
  const refused = refusalsOf(balancers);
  const claimed = ours.filter(({ metadata }) => metadata?.finalizers?.includes(FINALIZER));
  const plan = [...planRun(balancers), ...routes.map((unit) => removal(unit, true))];
  return { snapshot, desired, plan, services: settled(claimed, desired), claimed, refused };
}

function asDeleted(service: V1Service): V1Service {
  const { metadata } = service;
  return { ...service, metadata: { ...metadata, deletionTimestamp: new Date(0), finalizers: [FINALIZER] } };
}

/** The same, with every balancer that would be deleted or taken apart left alone instead. */
function leavingAll(desired: Desired): Desired {
  const present = { ...desired.present };
  const services = desired.services.map((wish): ServiceWish => {
    const state = present[wish.unit];
    if (wish.kind !== "release" || state?.kind !== "load-balancer") return wish;
    const { spec, present: seen, reason } = leaveBehind(wish.service, state, "the cluster is released");
    present[wish.unit] = seen;
    return { ...wish, keeps: { spec, reason } };
  });
  return { ...desired, services, present };
}

/** The same, with certificates that stay left alone, without owner. Of several with the same content, one at a time. */
function leavingCertificates(way: Way, desired: Desired): Desired {
  const present = { ...desired.present };
  const services = desired.services.map((wish): ServiceWish => {
    if (wish.kind !== "release") return wish;
    const { owned, stale } = wish.certificates;
    const staying = owned.filter((certificate) => staysBehind(way, certificate, wish, desired));
    const left = new Map(staying.toReversed().map(({ state }) => [certificateUnit(state), state]));
    for (const [unit, state] of left) present[unit] = state;
    const specs = [...left.values()].map(leaveCertificate);
    return { ...wish, certificates: { owned, stale: way === "release" ? [] : stale, left: specs } };
  });
  return { ...desired, services, present };
}

function staysBehind(way: Way, { isUsed }: OwnedCertificate, { unit, keeps }: ReleaseWish, { present }: Desired) {
  const isFinal = keeps !== undefined || present[unit] === undefined;
  return way === "release" || (isUsed && isFinal);
}

function routesOf({ present }: Desired): readonly UnitId[] {
  return (Object.keys(present) as UnitId[]).filter((unit) => present[unit]?.kind === "route");
}

/** On proof: the cloud lists nothing of theirs, or only what is protected. */
function settled(services: readonly V1Service[], { services: wishes, present }: Desired): readonly V1Service[] {
  const isSettled = (wish: ServiceWish) => {
    if (wish.kind !== "release") return false;
    const { stale, left = [] } = wish.certificates;
    if (stale.length > 0 || left.length > 0) return false;
    return !present[wish.unit] || (!wish.keeps && isProtected(present[wish.unit]));
  };
  const done = new Set(wishes.filter(isSettled).map(({ service }) => service.metadata?.uid));
  return services.filter(({ metadata }) => done.has(metadata?.uid));
}

function isProtected(state: Desired["present"][UnitId]): state is LoadBalancerState {
  return state?.kind === "load-balancer" && state.deleteProtection;
}

/** Services that would be let go if it were proven that nothing of theirs is left in the cloud. */
export async function unproven({ desired, services }: Departure, absence: Absence): Promise<readonly Doubt[]> {
  const uids = new Set(services.map(({ metadata }) => metadata?.uid));
  return (await absence.unproven(desired)).filter(({ wish }) => uids.has(wish.service.metadata?.uid));
}

/** One thing in the cloud, and what becomes of it. */
export interface Fate {
  /** `Service default/web`, `certificate web-tls`, `route 10.244.1.0/24`. */
  readonly object: string;
  readonly fate: "deleted" | "left behind" | "stays";
  /** What it is: its name, id and addresses; and why it stays. */
  readonly what: string;
}

/** Everything that leaving is about, in order. */
export function fatesOf({ desired, plan }: Departure): readonly Fate[] {
  const steps = new Map(plan.map((step) => [step.unit, step]));
  const balancers = desired.services.flatMap((wish): readonly Fate[] => {
    const state = desired.present[wish.unit];
    if (wish.kind !== "release" || state?.kind !== "load-balancer") return [];
    const step = steps.get(wish.unit);
    const fate = !step ? "stays" : step.kind === "remove" ? "deleted" : "left behind";
    const why = wish.keeps ? `: ${wish.keeps.reason}` : step ? "" : ": it is protected against deletion";
    return [{ object: `Service ${serviceName(wish.service)}`, fate, what: `${balancerText(state)}${why}` }];
  });
  const routes = plan
    .filter(({ unit }) => unit.startsWith("route/"))
    .map(({ unit }): Fate => {
      const what = gatewayText(desired.present[unit]);
      return { object: unit.replace("/", " "), fate: "deleted", what };
    });
  return [...balancers, ...desired.services.flatMap(certificateFates), ...routes];
}

function certificateFates(wish: ServiceWish): readonly Fate[] {
  if (wish.kind !== "release") return [];
  const left = new Set(wish.certificates.left?.map(({ name }) => name));
  return wish.certificates.owned.map(({ listed: { id, name, domain_names } }) => ({
    object: `certificate ${name}`,
    fate: left.has(name) ? "left behind" : "deleted",
    what: `id ${id}, for ${domain_names.join(", ")}, of Service ${serviceName(wish.service)}`,
  }));
}

function balancerText({ name, id, ipv4, ipv6 }: LoadBalancerState): string {
  const addresses = [ipv4, ipv6].filter((address) => address !== undefined);
  return [`balancer ${name} (id ${id})`, ...addresses].join(", ");
}

function gatewayText(state: Desired["present"][UnitId]): string {
  return state?.kind === "route" ? `via ${state.gateway}` : "";
}
