/** Routes of the cluster's network: one per node and IPv4 pod range, through the node's private address. */
import type { V1Node } from "@kubernetes/client-node";
import ipaddr from "ipaddr.js";
import type { RouteSpec } from "../../stacks/spec.ts";
import type { Network, Server } from "../hcloud/api.ts";
import { findServer } from "../node/metadata.ts";

export interface WantedRoute {
  readonly node: string;
  readonly spec: RouteSpec;
}

export interface RenderedRoutes {
  readonly wanted: readonly WantedRoute[];
  /** Nodes that have pod ranges but can get no route, each with the reason. */
  readonly refused: readonly { readonly node: string; readonly reason: string }[];
}

/** The routes that nodes want. IPv6 ranges need none: the provider routes IPv4 only. */
export function renderRoutes(nodes: readonly V1Node[], servers: readonly Server[], network: Network): RenderedRoutes {
  // By destination: the network has one route to each, and a node may list a range twice.
  const wanted = new Map<string, WantedRoute>();
  const refused: { node: string; reason: string }[] = [];
  for (const node of nodes) {
    const name = node.metadata?.name ?? "";
    const ranges = (node.spec?.podCIDRs ?? []).filter((cidr) => ipaddr.IPv4.isValidCIDR(cidr));
    if (ranges.length === 0 || node.metadata?.deletionTimestamp !== undefined) continue;
    const server = findServer(node, servers);
    const gateway = server?.private_net.find(({ network: id }) => id === network.id)?.ip;
    if (!gateway) {
      refused.push({
        node: name,
        reason: server
          ? `server ${server.name} is not attached to network ${network.name}`
          : "it has no server in this project",
      });
      continue;
    }
    for (const destination of ranges) {
      const holder = wanted.get(destination)?.node;
      if (holder === undefined)
        wanted.set(destination, { node: name, spec: { kind: "route", networkId: network.id, destination, gateway } });
      else if (holder !== name)
        refused.push({ node: name, reason: `${destination} is also the pod range of node ${holder}` });
    }
  }
  return { wanted: [...wanted.values()], refused };
}

/**
 * Routes to remove: inside the cluster's range and wanted by no node. A route is inside when its first or last address is
 * (the framework's rule, R3); others belong to somebody else and are never touched.
 */
export function staleRoutes(
  network: Network,
  wanted: readonly WantedRoute[],
  clusterCidrs: readonly string[],
): readonly RouteSpec[] {
  const destinations = new Set(wanted.map(({ spec }) => spec.destination));
  return network.routes
    .filter(({ destination }) => !destinations.has(destination) && isInside(destination, clusterCidrs))
    .map(({ destination, gateway }) => ({ kind: "route", networkId: network.id, destination, gateway }));
}

/** True when the first or the last address of an IPv4 range lies in one of the others. */
export function isInside(range: string, clusterCidrs: readonly string[]): boolean {
  if (!ipaddr.IPv4.isValidCIDR(range)) return false;
  const ends = [ipaddr.IPv4.networkAddressFromCIDR(range), ipaddr.IPv4.broadcastAddressFromCIDR(range)];
  return clusterCidrs.some(
    (cidr) => ipaddr.IPv4.isValidCIDR(cidr) && ends.some((end) => end.match(ipaddr.IPv4.parseCIDR(cidr))),
  );
}
