/** One plausible snapshot of cluster and cloud, and how old its lists may be at each step of a turn. */

import type { V1Node } from "@kubernetes/client-node";
import { isTarget } from "../../stacks/units/names.ts";
import { CcmError } from "../diagnostics/errors.ts";
import { GUARD_LIMITS } from "../guard/guard.ts";
import type { Plan, PlannedUnit, Situation } from "../guard/plan.ts";
import type { Gateway, Written } from "../hcloud/gateway.ts";
import type { Ages, CloudState, CloudView } from "../hcloud/reader.ts";
import type { Observed, RenderOptions, Snapshot } from "../render/cluster.ts";
import { isBalanced } from "../render/intents.ts";
import { isReady, type Witnesses } from "../render/node/lifecycle.ts";
import { findServer } from "../render/node/metadata.ts";
import { parseProviderId } from "../render/node/provider-id.ts";
import { TIMINGS } from "../work/timings.ts";

export interface Sources {
  /** Objects from the synced caches. */
  readonly observed: () => Observed;
  readonly view: Pick<CloudView, "state" | "server">;
}

/**
 * Throws ImplausibleCloud when the lists contradict the Nodes, even after reading the servers again. Servers that were read
 * directly replace what the list says about them.
 */
export async function observe({ observed, view }: Sources, ages: Ages, witnesses: Witnesses): Promise<Snapshot> {
  const read = async (wanted: Ages) => {
    const cloud = withWitnesses(await view.state(wanted), witnesses);
    requirePlausible(cloud, observed().nodes);
    return cloud;
  };
  const cloud = await read(ages).catch((error: unknown) => {
    if (error instanceof ImplausibleCloud) return read({ ...ages, servers: 0 });
    throw error;
  });
  return { ...observed(), cloud, now: Date.now() };
}

function withWitnesses(cloud: CloudState, witnesses: Witnesses): CloudState {
  if (witnesses.size === 0) return cloud;
  const found = [...witnesses.values()].filter((server) => server !== undefined);
  return { ...cloud, servers: [...cloud.servers.filter(({ id }) => !witnesses.has(id)), ...found] };
}

/**
 * Load balancers are read in every turn, or just before it. Routes are read in every resync, so that a route changed by hand
 * is noticed as soon as a changed load balancer. The rest changes rarely, or through Lotse: an older list will do, unless it
 * would cause a change.
 */
function relaxed(resyncMs: number): Ages {
  return { servers: 45_000, loadBalancers: TIMINGS.recent, certificates: 600_000, network: resyncMs / 2 };
}

/**
 * For the first plan. A Node that waits for its route will need the network anyway, so it is read along with the rest.
 * `arrived` are steps whose actions have ended since the last turn.
 */
export function agesBefore(
  nodes: readonly V1Node[],
  { clusterCidrs }: RenderOptions,
  resyncMs: number,
  arrived: Plan = [],
): Ages {
  const ages = relaxed(resyncMs);
  const readsNetwork = touches(arrived, "route/") || (clusterCidrs.length > 0 && nodes.some(awaitsRoute));
  return {
    ...ages,
    ...(readsNetwork && { network: 0 }),
    ...(touches(arrived, "load-balancer/") && { loadBalancers: 0 }),
    ...(touches(arrived, "certificate/") && { certificates: 0 }),
  };
}

function awaitsRoute({ spec, status }: V1Node): boolean {
  const isAvailable = status?.conditions?.some(
    ({ type, status: is }) => type === "NetworkUnavailable" && is === "False",
  );
  return !isAvailable && (spec?.podCIDRs?.length ?? 0) > 0;
}

/** For a second plan, when old lists would cause a change or leave a Node out; undefined when the first plan can stand. */
export function agesToConfirm(
  { rendered, plan }: Situation,
  resyncMs: number,
  isDrift: (step: PlannedUnit) => boolean,
): Ages | undefined {
  const { services, routes } = rendered;
  const leavesNodesOut = services.filter(isBalanced).some(({ leftOut }) => leftOut.length > 0);
  const changesRoutes = touches(plan, "route/");
  // A target that vanished may have gone with its server.
  const losesTargets = plan.some((step) => isDrift(step) && step.differences.some(({ part }) => isTarget(part)));
  const refused = routes?.refused.filter(({ isFinal }) => !isFinal) ?? [];
  // A Node that has just joined is not blamed by a list from before.
  const needsNewest = losesTargets || refused.some(({ isNew }) => isNew);
  const readsServers = leavesNodesOut || needsNewest || changesRoutes || refused.length > 0;
  const readsCertificates = dependsOnCertificates({ rendered, plan });
  const readsBalancers = createsNamed({ rendered, plan });
  if (!readsServers && !readsCertificates && !readsBalancers) return undefined;
  return {
    ...relaxed(resyncMs),
    ...(readsBalancers && { loadBalancers: 0 }),
    ...(readsServers && { servers: needsNewest ? 0 : 3_000 }),
    ...(readsCertificates && { certificates: 0 }),
    ...(changesRoutes && { network: 1_000 }),
  };
}

/** Whether a load balancer would be created with a name that a Service chose: one that has just been made may have it. */
function createsNamed({ rendered: { services, existing }, plan }: Situation): boolean {
  const planned = new Set(plan.map(({ unit }) => unit));
  const named = services.filter(isBalanced).filter(({ settings }) => settings.options.name !== undefined);
  return named.some(({ unit }) => existing[unit] === undefined && planned.has(unit));
}

/** Whether an old list could be wrong about a certificate that is awaited, or about one that is to be removed. */
export function dependsOnCertificates({ rendered, plan }: Situation): boolean {
  const awaits = rendered.services.some(
    (intent) => intent.kind === "retire" || (intent.kind === "balance" && intent.certificates.isUncertain),
  );
  return awaits || touches(plan, "certificate/");
}

/** For what a run has not touched, or not written to in the end. */
const UNTOUCHED_MS = 10_000;

/** After a run: what it touched must have been read since its last write. */
export function agesAfter(due: Plan, resyncMs: number, gateway: Pick<Gateway, "sinceWriteMs">): Ages {
  const { servers, certificates, network } = relaxed(resyncMs);
  const proving = (collection: Written) => Math.min(gateway.sinceWriteMs(collection), UNTOUCHED_MS);
  return {
    servers,
    loadBalancers: touches(due, "load-balancer/") ? proving("load_balancers") : UNTOUCHED_MS,
    certificates: touches(due, "certificate/") ? proving("certificates") : certificates,
    network: touches(due, "route/") ? proving("networks") : network,
  };
}

function touches(plan: Plan, kind: string): boolean {
  return plan.some(({ unit }) => unit.startsWith(kind));
}

/** The cloud's lists contradict the cluster. Acting on them could remove every target and route. */
export class ImplausibleCloud extends CcmError {
  readonly code = "implausible-cloud";
  readonly retry = "backoff";
  /** Nodes that are Ready although the cloud does not list their servers. */
  readonly nodes: readonly V1Node[];

  constructor(message: string, nodes: readonly V1Node[]) {
    super(message);
    this.nodes = nodes;
  }
}

/** A single server may just have been deleted. Several at once, and a large share of all, mean an incomplete list. */
const LEAST_MISSING = 2;

/**
 * Throws ImplausibleCloud when no server is listed although Nodes have one (an outage, or the wrong project), or when the
 * list lacks the servers of many Ready Nodes. Neither is a reason to remove targets and routes.
 */
export function requirePlausible({ servers }: Pick<CloudState, "servers">, nodes: readonly V1Node[]): void {
  const ours = nodes.filter(({ spec }) => parseProviderId(spec?.providerID).kind === "cloud");
  if (servers.length === 0 && ours.length > 0) {
    const remedy = "check that HCLOUD_TOKEN belongs to this cluster's project";
    throw new ImplausibleCloud(`the API lists no servers, but ${ours.length} nodes have one: ${remedy}`, []);
  }
  const ready = ours.filter(isReady);
  const missing = ready.filter((node) => !findServer(node, servers));
  if (missing.length < LEAST_MISSING || missing.length <= ready.length * GUARD_LIMITS.share) return;
  throw new ImplausibleCloud(
    `the API does not list the servers of ${missing.length} of ${ready.length} Ready nodes: no changes until they are listed or no longer Ready`,
    missing,
  );
}
