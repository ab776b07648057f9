/** Plans a departure: everything of the cluster is deleted, or kept without an owner. Pure. */
import type { V1Service } from "@kubernetes/client-node";
import { certificateUnit } from "../../../stacks/units/names.ts";
import type { UnitId } from "../../../stacks/units/spec.ts";
import type { Absence, Doubt } from "../../apply/proof.ts";
import { asDeleted, hasFinalizer } from "../../formats/finalizer.ts";
import { planRun, removal } from "../../guard/plan.ts";
import type { Network } from "../../hcloud/api.ts";
import { leaveCertificate } from "../../render/certificate/owned.ts";
import { type Rendered, type RenderOptions, renderCluster, type Snapshot } from "../../render/cluster.ts";
import { balancerIn, type ServiceIntent } from "../../render/intents.ts";
import { findServer } from "../../render/node/metadata.ts";
import { type Refusal, refusalsOf } from "../../render/refusals.ts";
import { intentOf, serviceName } from "../../render/service/ours.ts";
import { leaveBehind } from "../../render/service/retire.ts";
import type { ClusterPlan } from "../open.ts";
import { balancerText, shownBalancer } from "../output.ts";

/** `destroy` deletes the cluster's resources, `release` keeps its load balancers as they are. */
export type DepartureMode = "destroy" | "release";

/** A planned departure. The plan is empty when everything in the cloud is deleted or has no owner. */
export interface Departure extends Omit<ClusterPlan, "heldBack"> {
  /** Services with our finalizer that have nothing left in the cloud. */
  readonly services: readonly V1Service[];
  /** All Services with our finalizer. */
  readonly claimed: readonly V1Service[];
  /** Services whose load balancer cannot be determined. */
  readonly refused: readonly Refusal[];
  /** Routes to the cluster's nodes that stay because the cluster's pod ranges are unknown. */
  readonly routesLeft: Network["routes"];
}

/**
 * | what | `destroy` | `release` |
 * | --- | --- | --- |
 * | load balancer of a Service | deleted, unless it is protected, shared, or has `on-delete: keep` | stays unchanged, without an owner |
 * | certificate made for a Service | deleted, unless a remaining load balancer presents it | stays, without an owner |
 * | route to a node, or stale in the cluster's ranges | deleted | stays |
 * | Service | loses address and finalizer | loses the finalizer |
 * | resources of others | stay | stay |
 */
export function planDeparture(mode: DepartureMode, snapshot: Snapshot, options: RenderOptions): Departure {
  const ours = snapshot.services.filter((service) => intentOf(service, options.classes) !== "none");
  const deleted = renderCluster({ ...snapshot, services: ours.map(asDeleted) }, options);
  const rendered = mode === "release" ? keepingAll(deleted) : deleted;
  const { routes: _, ...balancers } = rendered;
  const refused = refusalsOf(balancers);
  const claimed = ours.filter(hasFinalizer);
  const routes = (Object.keys(rendered.existing) as UnitId[]).filter((unit) => unit.startsWith("route/"));
  const removals = mode === "destroy" ? routes.map((unit) => removal(unit, true)) : [];
  const plan = [...planRun(balancers), ...removals];
  const routesLeft = mode === "destroy" && !rendered.routes ? routesToNodes(snapshot) : [];
  return { snapshot, rendered, plan, services: settled(claimed, rendered), claimed, refused, routesLeft };
}

/** Routes through the private address of a node's server. Other clusters may share the network. */
function routesToNodes({ nodes, cloud: { network, servers } }: Snapshot): Network["routes"] {
  const own = nodes.flatMap((node) => findServer(node, servers)?.private_net ?? []);
  const addresses = new Set(own.filter((net) => net.network === network?.id).map(({ ip }) => ip));
  return (network?.routes ?? []).filter(({ gateway }) => addresses.has(gateway));
}

/** Keeps every load balancer and certificate, without an owner. Of certificates with the same content, one per run. */
function keepingAll(rendered: Rendered): Rendered {
  const existing = { ...rendered.existing };
  const services = rendered.services.map((intent): ServiceIntent => {
    if (intent.kind !== "retire") return intent;
    const { owned } = intent.certificates;
    const left = new Map(owned.toReversed().map(({ state }) => [certificateUnit(state), state]));
    for (const [unit, state] of left) existing[unit] = state;
    const kept = { ...intent, certificates: { owned, stale: [], left: [...left.values()].map(leaveCertificate) } };
    const balancer = balancerIn(existing, intent.unit);
    if (!balancer) return kept;
    const { spec, existing: seen, reason } = leaveBehind(intent.service, balancer, "the cluster is released");
    existing[intent.unit] = seen;
    return { ...kept, keeps: { spec, reason } };
  });
  return { ...rendered, services, existing };
}

/** Services of which the cloud lists nothing, or only a protected load balancer. */
function settled(services: readonly V1Service[], { services: intents, existing }: Rendered): readonly V1Service[] {
  const isSettled = (intent: ServiceIntent) => {
    if (intent.kind !== "retire") return false;
    const { stale, left = [] } = intent.certificates;
    if (stale.length > 0 || left.length > 0) return false;
    const balancer = balancerIn(existing, intent.unit);
    return !balancer || (!intent.keeps && balancer.deleteProtection);
  };
  const done = new Set(intents.filter(isSettled).map(({ service }) => service.metadata?.uid));
  return services.filter(({ metadata }) => done.has(metadata?.uid));
}

/** Settled Services for which a list is not enough proof that nothing is left in the cloud. */
export async function unproven({ rendered, services }: Departure, absence: Absence): Promise<readonly Doubt[]> {
  const uids = new Set(services.map(({ metadata }) => metadata?.uid));
  return (await absence.unproven(rendered)).filter(({ intent }) => uids.has(intent.service.metadata?.uid));
}

/** One resource in the cloud, and what happens to it. */
export interface Disposition {
  /** `Service default/web`, `certificate web-tls`, `route 10.244.1.0/24`. */
  readonly object: string;
  readonly disposition: "deleted" | "left behind" | "stays";
  /** Name, id and addresses, and why it stays. */
  readonly what: string;
}

/** Every resource concerned: load balancers, certificates, routes. */
export function dispositionsOf({ rendered, plan, routesLeft }: Departure): readonly Disposition[] {
  const steps = new Map(plan.map((step) => [step.unit, step]));
  const balancers = rendered.services.flatMap((intent): readonly Disposition[] => {
    const balancer = balancerIn(rendered.existing, intent.unit);
    if (intent.kind !== "retire" || !balancer) return [];
    const step = steps.get(intent.unit);
    const disposition = !step ? "stays" : step.kind === "remove" ? "deleted" : "left behind";
    const why = intent.keeps ? `: ${intent.keeps.reason}` : step ? "" : ": it is protected against deletion";
    const what = `${balancerText(shownBalancer(balancer))}${why}`;
    return [{ object: `Service ${serviceName(intent.service)}`, disposition, what }];
  });
  const routes = plan.flatMap(({ unit }): readonly Disposition[] => {
    const state = rendered.existing[unit];
    if (state?.kind !== "route") return [];
    return [{ object: `route ${state.destination}`, disposition: "deleted", what: `via ${state.gateway}` }];
  });
  const left = routesLeft.map(({ destination, gateway }): Disposition => {
    const what = `via ${gateway}: set --cluster-cidr as for the controller to delete it`;
    return { object: `route ${destination}`, disposition: "stays", what };
  });
  return [...balancers, ...rendered.services.flatMap(certificateDispositions), ...routes, ...left];
}

function certificateDispositions(intent: ServiceIntent): readonly Disposition[] {
  if (intent.kind !== "retire") return [];
  const left = new Set(intent.certificates.left?.map(({ name }) => name));
  return intent.certificates.owned.map(({ listed: { id, name, domain_names } }) => ({
    object: `certificate ${name}`,
    disposition: left.has(name) ? "left behind" : "deleted",
    what: `id ${id}, for ${domain_names.join(", ")}, of Service ${serviceName(intent.service)}`,
  }));
}
