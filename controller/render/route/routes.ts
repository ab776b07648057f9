/** Routes in the cluster's network: one per node and IPv4 pod CIDR, through the node's private address. */
import type { V1Node } from "@kubernetes/client-node";
import ipaddr from "ipaddr.js";
import type { RouteSpec } from "../../../stacks/units/spec.ts";
import type { Network, Server } from "../../hcloud/api.ts";
import { findServer } from "../node/metadata.ts";
import { parseProviderId } from "../node/provider-id.ts";

/** Hetzner's limit of routes per network. */
export const MAX_ROUTES = 100;

/** A route that a node needs. */
export interface WantedRoute {
  readonly node: string;
  readonly spec: RouteSpec;
}

/** A node that cannot get one of its routes. `isFinal`: a newer list of servers could not change that. */
export interface RefusedRoute {
  readonly node: string;
  readonly reason: string;
  readonly isFinal: boolean;
}

/** What should happen to the network's routes. */
export interface RoutePlan {
  readonly wanted: readonly WantedRoute[];
  readonly refused: readonly RefusedRoute[];
  /** Routes to remove. */
  readonly stale: readonly RouteSpec[];
  /** Wanted routes outside the cluster CIDRs: they are created, but not recognised as ours when they become stale. */
  readonly misplaced: readonly WantedRoute[];
}

/** What routes are derived from. */
export interface RouteView {
  readonly nodes: readonly V1Node[];
  readonly servers: readonly Server[];
  readonly network: Network;
}

/** Plans all routes of the network. */
export function planRoutes(view: RouteView, clusterCidrs: readonly string[]): RoutePlan {
  const { wanted, refused } = renderRoutes(view);
  const others = new Set(view.nodes.filter((node) => !isRoutable(node, view.servers)).flatMap(ipv4RangesOf));
  // A route to a node that we do not manage was created for that node by something else.
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
 * The routes that nodes need. IPv6 CIDRs are skipped, because Hetzner routes IPv4 only. So are dedicated servers and
 * other providers' nodes, which are not in the network, and nodes that are not initialised yet.
 */
export function renderRoutes(view: RouteView): Pick<RoutePlan, "wanted" | "refused"> {
  // By destination: the network allows one route to each, and a node may list a CIDR twice.
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
          reason: `pod CIDR ${destination} also belongs to node ${holder}`,
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

/** One route for each pod CIDR of the node, or why there are none. */
function routesTo(node: V1Node, { servers, network }: RouteView): readonly WantedRoute[] | RefusedRoute {
  const name = node.metadata?.name ?? "";
  const server = findServer(node, servers);
  const gateway = addressIn(network, server);
  if (!gateway) {
    const detached = `server ${server?.name} is not attached to network ${network.name}: attach it`;
    return { node: name, reason: server ? detached : "its server does not exist in this project", isFinal: false };
  }
  const spec = { kind: "route", networkId: network.id, gateway } as const;
  return ipv4RangesOf(node).map((destination) => ({ node: name, spec: { ...spec, destination } }));
}

/** Normalised as the API returns them: Kubernetes accepts host bits in a CIDR, which would make it look different. */
function ipv4RangesOf({ spec }: V1Node): readonly string[] {
  const ranges = (spec?.podCIDRs ?? []).filter((cidr) => ipaddr.IPv4.isValidCIDR(cidr));
  return ranges.map((cidr) => `${ipaddr.IPv4.networkAddressFromCIDR(cidr)}/${cidr.split("/")[1]}`);
}

function addressIn(network: Network, server: Server | undefined): string | undefined {
  return server?.private_net.find((attachment) => attachment.network === network.id)?.ip;
}

/** Refuses new routes beyond the network's limit before the API does. Existing routes are kept. */
function withinLimit(
  wanted: readonly WantedRoute[],
  stale: readonly RouteSpec[],
  network: Network,
): Pick<RoutePlan, "wanted" | "refused"> {
  const existing = new Set(network.routes.map(({ destination }) => destination));
  const added = wanted.filter(({ spec }) => !existing.has(spec.destination));
  const beyond = new Set(added.slice(Math.max(0, MAX_ROUTES - (network.routes.length - stale.length))));
  const reason = `network ${network.name} has reached the limit of ${MAX_ROUTES} routes: remove nodes or routes, or use a CNI that needs none (HCLOUD_NETWORK_ROUTES_ENABLED=false)`;
  return {
    wanted: wanted.filter((route) => !beyond.has(route)),
    refused: [...beyond].map(({ node }) => ({ node, reason, isFinal: true })),
  };
}

/** Nodes that lost their pod CIDR, and therefore lose their route (framework 4.2). */
function refuseRangeless({ nodes, servers, network }: RouteView, stale: readonly RouteSpec[]): readonly RefusedRoute[] {
  const gateways = new Set(stale.map(({ gateway }) => gateway));
  const reason = "it no longer has an IPv4 podCIDR: its route is removed";
  return nodes
    .filter((node) => ipv4RangesOf(node).length === 0 && node.metadata?.deletionTimestamp === undefined)
    .filter((node) => gateways.has(addressIn(network, findServer(node, servers)) ?? ""))
    .map((node) => ({ node: node.metadata?.name ?? "", reason, isFinal: true }));
}

/**
 * Routes to remove: inside the cluster CIDRs and needed by no node. A route is inside if its first or last address is
 * (the framework's rule, R3). Other routes are not ours and are never touched.
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

/** Whether the first or last address of an IPv4 CIDR is in one of the cluster CIDRs. */
export function isInside(range: string, clusterCidrs: readonly string[]): boolean {
  return endsOf(range).some((end) => clusterCidrs.some((cidr) => contains(cidr, end)));
}

/** Whether an IPv4 CIDR is entirely in one of the cluster CIDRs. */
export function isWithin(range: string, clusterCidrs: readonly string[]): boolean {
  const ends = endsOf(range);
  return ends.length > 0 && clusterCidrs.some((cidr) => ends.every((end) => contains(cidr, end)));
}

function endsOf(range: string): readonly ipaddr.IPv4[] {
  if (!ipaddr.IPv4.isValidCIDR(range)) return [];
  return [ipaddr.IPv4.networkAddressFromCIDR(range), ipaddr.IPv4.broadcastAddressFromCIDR(range)];
}

function contains(cidr: string, address: ipaddr.IPv4): boolean {
  return ipaddr.IPv4.isValidCIDR(cidr) && address.match(ipaddr.IPv4.parseCIDR(cidr));
}
