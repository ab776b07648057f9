/** How old a turn lets what it looks at be. */
import type { V1Node } from "@kubernetes/client-node";
import type { Plan } from "../guard/plan.ts";
import type { Ages } from "../hcloud/view.ts";

/**
 * Balancers are always asked for: what the last write left behind must be seen. Routes are asked for whenever a turn comes
 * round by itself, which it does after half of its interval or later, so that a route changed by hand is seen as soon as
 * a balancer is. The rest changes by our doing or rarely; it is old enough for a first look, and asked for when that look
 * finds something to do about it.
 */
export function firstLook(resyncMs: number): Ages {
  return { servers: 45_000, loadBalancers: 0, certificates: 600_000, network: resyncMs / 2 };
}

/** The same where a node waits for its route: the network will be asked for anyway, so it is asked for along with the rest. */
export function lookFor(nodes: readonly V1Node[], first: Ages): Ages {
  return nodes.some(awaitsRoute) ? { ...first, network: 0 } : first;
}

function awaitsRoute({ spec, status }: V1Node): boolean {
  const isAvailable = status?.conditions?.some(
    ({ type, status: is }) => type === "NetworkUnavailable" && is === "False",
  );
  return !isAvailable && (spec?.podCIDRs?.length ?? 0) > 0;
}

/** For what a first look would change: as things are now, where it asks for that. */
export function freshLook(first: Ages, asks: Readonly<Record<"servers" | "certificates" | "network", boolean>>): Ages {
  return {
    ...first,
    loadBalancers: 1_000,
    ...(asks.servers && { servers: 3_000 }),
    ...(asks.certificates && { certificates: 0 }),
    ...(asks.network && { network: 1_000 }),
  };
}

/** After a run, what it touched is asked for again. */
export function agesAfter(due: Plan, { servers, certificates, network }: Ages): Ages {
  const touches = (kind: string) => due.some(({ unit }) => unit.startsWith(kind));
  return {
    servers,
    loadBalancers: touches("load-balancer/") ? 0 : 10_000,
    certificates: touches("certificate/") ? 0 : certificates,
    network: touches("route/") ? 0 : network,
  };
}
