/** How old the cloud's lists may be at each step of a turn. */
import type { V1Node } from "@kubernetes/client-node";
import type { Plan, Situation } from "../guard/plan.ts";
import type { Ages } from "../hcloud/view.ts";
import type { RenderOptions } from "../render/cluster.ts";

/**
 * Load balancers are read in every turn, to see the effect of the last write. Routes are read in every resync, so that a
 * route changed by hand is noticed as soon as a changed load balancer. The rest changes rarely, or through Lotse: an older
 * list will do, unless it would cause a change.
 */
function relaxed(resyncMs: number): Ages {
  return { servers: 45_000, loadBalancers: 0, certificates: 600_000, network: resyncMs / 2 };
}

/** For the first plan. A Node that waits for its route will need the network anyway, so it is read along with the rest. */
export function agesBefore(nodes: readonly V1Node[], { clusterCidrs }: RenderOptions, resyncMs: number): Ages {
  const ages = relaxed(resyncMs);
  return clusterCidrs.length > 0 && nodes.some(awaitsRoute) ? { ...ages, network: 0 } : ages;
}

function awaitsRoute({ spec, status }: V1Node): boolean {
  const isAvailable = status?.conditions?.some(
    ({ type, status: is }) => type === "NetworkUnavailable" && is === "False",
  );
  return !isAvailable && (spec?.podCIDRs?.length ?? 0) > 0;
}

/** For a second plan, when old lists would cause a change or leave a Node out; undefined when the first plan can stand. */
export function agesToConfirm({ rendered, plan }: Situation, resyncMs: number): Ages | undefined {
  const { services, routes } = rendered;
  const leavesNodesOut = services.some((intent) => intent.kind === "balance" && intent.leftOut.length > 0);
  const changesRoutes = touches(plan, "route/");
  const readsServers = leavesNodesOut || changesRoutes || (routes?.refused.some(({ isFinal }) => !isFinal) ?? false);
  const readsCertificates = dependsOnCertificates({ rendered, plan });
  if (!readsServers && !readsCertificates) return undefined;
  return {
    ...relaxed(resyncMs),
    loadBalancers: 1_000,
    ...(readsServers && { servers: 3_000 }),
    ...(readsCertificates && { certificates: 0 }),
    ...(changesRoutes && { network: 1_000 }),
  };
}

/** Whether an old list could be wrong about a certificate that is awaited, or about one that is to be removed. */
export function dependsOnCertificates({ rendered, plan }: Situation): boolean {
  const awaits = rendered.services.some(
    (intent) => intent.kind === "retire" || (intent.kind === "balance" && intent.certificates.isUncertain),
  );
  return awaits || touches(plan, "certificate/");
}

/** After a run: reads what it touched. */
export function agesAfter(due: Plan, resyncMs: number): Ages {
  const { servers, certificates, network } = relaxed(resyncMs);
  return {
    servers,
    loadBalancers: touches(due, "load-balancer/") ? 0 : 10_000,
    certificates: touches(due, "certificate/") ? 0 : certificates,
    network: touches(due, "route/") ? 0 : network,
  };
}

function touches(plan: Plan, kind: string): boolean {
  return plan.some(({ unit }) => unit.startsWith(kind));
}
