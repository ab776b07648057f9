/** Routes of the cluster's network: one per node and IPv4 pod range, through the node's private address. */
import type { V1Node } from "@kubernetes/client-node";
import ipaddr from "ipaddr.js";
import type { RouteSpec } from "../../../stacks/units/spec.ts";
import type { Network, Server } from "../../hcloud/api.ts";
import { findServer } from "../node/metadata.ts";
import { parseProviderId } from "../node/provider-id.ts";

/** The most routes that the provider lets a network have. */
export const MAX_ROUTES = 100;

export interface WantedRoute {
  readonly node: string;
  readonly spec: RouteSpec;
}

/** A node that cannot get one of its routes. `isFinal`: another look at the servers would not help. */
export interface RefusedRoute {
  readonly node: string;
  readonly reason: string;
  readonly isFinal: boolean;
}

export interface RoutePlan {
  readonly wanted: readonly WantedRoute[];
  readonly refused: readonly RefusedRoute[];
  /** Routes to remove. */
  readonly stale: readonly RouteSpec[];
  /** Wanted routes to ranges that are not in the cluster's: made, but never known as ours again. */
  readonly misplaced: readonly WantedRoute[];
}

/** What routes are made from. */
export interface RouteView {
  readonly nodes: readonly V1Node[];
  readonly servers: readonly Server[];
  readonly network: Network;
}

/** All that is to happen to the network's routes. */
export function planRoutes(view: RouteView, clusterCidrs: readonly string[]): RoutePlan {
  const { wanted, refused } = renderRoutes(view);
  const others = new Set(view.nodes.filter((node) => !isRoutable(node, view.servers)).flatMap(ipv4RangesOf));
  // What leads to a node that we do not route was made by somebody for that node.
  const stale = staleRoutes(view.network, wanted, clusterCidrs).filter(({ destination }) => !others.has(destination));
  const limited = withinLimit(wanted, stale, view.network);
  return {
    wanted: limited.wanted,
    refused: [...refused, ...limited.refused, ...refuseRangeless(view, stale)],
    stale,
    misplaced: limited.wanted.filter(({ spec }) => !isWithin(spec.destination, clusterCidrs)),
  };
}

/**
 * The routes that nodes want. IPv6 ranges need none: the provider routes IPv4 only. Dedicated servers and other providers'
 * nodes are not in the network and have their pods reached otherwise; a node that has not been initialised yet waits.
 */
export function renderRoutes(view: RouteView): Pick<RoutePlan, "wanted" | "refused"> {
  // By destination: the network has one route to each, and a node may list a range twice.
  const wanted = new Map<string, WantedRoute>();
  const refused: RefusedRoute[] = [];
  for (const node of view.nodes.filter((candidate) => isRoutable(candidate, view.servers))) {
    const asked = routesTo(node, view);
    if ("reason" in asked) refused.push(asked);
    for (const route of "reason" in asked ? [] : asked) {
      const { destination } = route.spec;
      const holder = wanted.get(destination)?.node ?? route.node;
      if (holder === route.node) wanted.set(destination, route);
      else
        refused.push({
          node: route.node,
          reason: `${destination} is also the pod range of node ${holder}`,
          isFinal: true,
        });
    }
  }
  return { wanted: [...wanted.values()], refused };
}

function isRoutable(node: V1Node, servers: readonly Server[]): boolean {
  if (ipv4RangesOf(node).length === 0 || node.metadata?.deletionTimestamp !== undefined) return false;
  return parseProviderId(node.spec?.providerID).kind === "cloud" || findServer(node, servers) !== undefined;
}

/** One route for each of the node's ranges, or why there can be none. */
function routesTo(node: V1Node, { servers, network }: RouteView): readonly WantedRoute[] | RefusedRoute {
  const name = node.metadata?.name ?? "";
  const server = findServer(node, servers);
  const gateway = addressIn(network, server);
  if (!gateway) {
    const detached = `server ${server?.name} is not attached to network ${network.name}: attach it`;
    return { node: name, reason: server ? detached : "it has no server in this project", isFinal: false };
  }
  const spec = { kind: "route", networkId: network.id, gateway } as const;
  return ipv4RangesOf(node).map((destination) => ({ node: name, spec: { ...spec, destination } }));
}

/** In the form that the API gives back: bits beyond the prefix, which Kubernetes lets pass, would make it another range. */
function ipv4RangesOf({ spec }: V1Node): readonly string[] {
  const ranges = (spec?.podCIDRs ?? []).filter((cidr) => ipaddr.IPv4.isValidCIDR(cidr));
  return ranges.map((cidr) => `${ipaddr.IPv4.networkAddressFromCIDR(cidr)}/${cidr.split("/")[1]}`);
}

function addressIn(network: Network, server: Server | undefined): string | undefined {
  return server?.private_net.find((attachment) => attachment.network === network.id)?.ip;
}

/** Lets as many new routes pass as the network has room for, before the API says no. Those that exist keep their place. */
function withinLimit(
  wanted: readonly WantedRoute[],
  stale: readonly RouteSpec[],
  network: Network,
): Pick<RoutePlan, "wanted" | "refused"> {
  const existing = new Set(network.routes.map(({ destination }) => destination));
  const added = wanted.filter(({ spec }) => !existing.has(spec.destination));
  const beyond = new Set(added.slice(Math.max(0, MAX_ROUTES - (network.routes.length - stale.length))));
  const reason = `network ${network.name} has no room for another route, ${MAX_ROUTES} is the provider's limit: remove nodes or routes, or use a CNI that needs none (HCLOUD_NETWORK_ROUTES_ENABLED=false)`;
  return {
    wanted: wanted.filter((route) => !beyond.has(route)),
    refused: [...beyond].map(({ node }) => ({ node, reason, isFinal: true })),
  };
}

/** Nodes that lost their pod range, and lose their route with it (framework 4.2). One that never had any is left alone. */
function refuseRangeless({ nodes, servers, network }: RouteView, stale: readonly RouteSpec[]): readonly RefusedRoute[] {
  const gateways = new Set(stale.map(({ gateway }) => gateway));
  const reason = "it has no IPv4 podCIDR any more: its route goes";
  return nodes
    .filter((node) => ipv4RangesOf(node).length === 0 && node.metadata?.deletionTimestamp === undefined)
    .filter((node) => gateways.has(addressIn(network, findServer(node, servers)) ?? ""))
    .map((node) => ({ node: node.metadata?.name ?? "", reason, isFinal: true }));
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
  return endsOf(range).some((end) => clusterCidrs.some((cidr) => lies(end, cidr)));
}

/** True when all of an IPv4 range lies in one of the others. */
export function isWithin(range: string, clusterCidrs: readonly string[]): boolean {
  const ends = endsOf(range);
  return ends.length > 0 && clusterCidrs.some((cidr) => ends.every((end) => lies(end, cidr)));
}

function endsOf(range: string): readonly ipaddr.IPv4[] {
  if (!ipaddr.IPv4.isValidCIDR(range)) return [];
  return [ipaddr.IPv4.networkAddressFromCIDR(range), ipaddr.IPv4.broadcastAddressFromCIDR(range)];
}

function lies(address: ipaddr.IPv4, cidr: string): boolean {
  return ipaddr.IPv4.isValidCIDR(cidr) && address.match(ipaddr.IPv4.parseCIDR(cidr));
}
