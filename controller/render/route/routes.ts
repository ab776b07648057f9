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

/** A node that cannot get one of its routes. */
export interface RefusedRoute {
  readonly node: string;
  readonly reason: string;
  /** Whether a newer list of servers could not change that. */
  readonly isFinal: boolean;
  /** Whether the pod CIDR is outside the cluster CIDRs. */
  readonly isMisplaced?: boolean;
  /** Whether the node has a route all the same, which stays as it is. */
  readonly hasRoute?: boolean;
  /** Whether the Node's condition does not say so yet: a list from after the Node joined must confirm it first. */
  readonly isNew?: boolean;
}

/** What should happen to the network's routes. */
export interface RoutePlan {
  readonly wanted: readonly WantedRoute[];
  readonly refused: readonly RefusedRoute[];
  /** Routes to remove: they are inside the cluster CIDRs and belong to no Node. */
  readonly stale: readonly RouteSpec[];
  /** Routes of Nodes whose server is not listed or not attached at the moment: they stay as they are. */
  readonly kept: readonly RouteSpec[];
}

/** What routes are derived from. */
export interface RouteView {
  readonly nodes: readonly V1Node[];
  readonly servers: readonly Server[];
  readonly network: Network;
}

/** A pod CIDR of a Node, and where its packets should go. */
interface Claim {
  readonly node: V1Node;
  readonly destination: string;
  /** The server's address in the network; undefined while it is unknown. */
  readonly gateway: string | undefined;
  /** Why it is unknown. Also undefined for nodes that are not in the network: their routes are not ours. */
  readonly problem: string | undefined;
}

/**
 * Plans all routes of the network: one for each IPv4 pod CIDR of a node in the network. A route whose destination is the
 * pod CIDR of any existing Node is never removed, whatever the lists say, because its pods would lose their network.
 *
 * | pod CIDR | route |
 * | --- | --- |
 * | not entirely inside the cluster CIDRs | refused; an existing route is not ours |
 * | of a node that is in no network: dedicated server, other provider, not initialised | none; an existing route stays |
 * | of a node whose server is not listed or not attached | refused; an existing route stays |
 * | of several nodes | goes to the node that has the route, otherwise to the oldest; refused for the others |
 */
export function planRoutes(view: RouteView, clusterCidrs: readonly string[]): RoutePlan {
  const claims = view.nodes.flatMap((node) => claimsOf(node, view));
  const { wanted, refused } = settle(claims, view.network, clusterCidrs);
  const ours = view.network.routes.filter(({ destination }) => isWithin(destination, clusterCidrs));
  const claimed = Map.groupBy(claims, ({ destination }) => destination);
  const stale = ours.filter(({ destination }) => !claimed.has(destination));
  const served = new Set(wanted.map(({ spec }) => spec.destination));
  const kept = ours.filter(
    ({ destination }) =>
      !served.has(destination) && claimed.get(destination)?.some(({ problem }) => problem !== undefined),
  );
  const specs = (routes: Network["routes"]) => routes.map((route) => routeSpec(view.network, route));
  const limited = withinLimit(wanted, specs(stale), view.network);
  return {
    wanted: limited.wanted,
    refused: [...refused, ...limited.refused, ...refuseRangeless(view, specs(stale))],
    stale: specs(stale),
    kept: specs(kept),
  };
}

/** A Node that is being deleted keeps its routes until it is gone, but is not told about missing ones. */
function settle(claims: readonly Claim[], network: Network, clusterCidrs: readonly string[]) {
  const gateways = new Map(network.routes.map(({ destination, gateway }) => [destination, gateway]));
  const rivals = Map.groupBy(claims, ({ destination }) => destination);
  const wanted: WantedRoute[] = [];
  const refused: RefusedRoute[] = [];
  for (const claim of claims) {
    const { node, destination, gateway, problem } = claim;
    if (gateway === undefined && problem === undefined) continue;
    const existing = gateways.get(destination);
    const holder = holderOf(rivals.get(destination) ?? [], existing) ?? claim;
    const refusal = refuse(claim, { holder, existing, isInside: isWithin(destination, clusterCidrs) });
    if (refusal && node.metadata?.deletionTimestamp === undefined) refused.push(refusal);
    if (!refusal && gateway !== undefined)
      wanted.push({ node: nameOf(node), spec: routeSpec(network, { destination, gateway }) });
  }
  return { wanted, refused: refused.filter(isFirstOfNode) };
}

interface Circumstances {
  readonly holder: Claim;
  /** Gateway of the existing route. */
  readonly existing: string | undefined;
  readonly isInside: boolean;
}

function refuse(claim: Claim, { holder, existing, isInside }: Circumstances): RefusedRoute | undefined {
  const { destination, gateway, problem } = claim;
  const node = nameOf(claim.node);
  if (!isInside) {
    const reason = `pod CIDR ${destination} is outside --cluster-cidr: extend --cluster-cidr to cover all pod CIDRs`;
    const hasRoute = gateway !== undefined && gateway === existing;
    return { node, reason, isFinal: true, isMisplaced: true, ...(hasRoute && { hasRoute }) };
  }
  if (holder !== claim)
    return { node, reason: `pod CIDR ${destination} also belongs to node ${nameOf(holder.node)}`, isFinal: true };
  if (problem === undefined) return undefined;
  const isKept = existing !== undefined;
  return {
    node,
    reason: isKept ? `${problem}; its route stays as it is` : problem,
    isFinal: false,
    ...(isKept && { hasRoute: true }),
    ...(!isKept && isUnreported(claim.node) && { isNew: true }),
  };
}

/**
 * Of several Nodes that claim a pod CIDR, the one that the existing route leads to, or may lead to. Otherwise the oldest:
 * a Node that registers with the pod CIDR of another must not get its packets.
 */
function holderOf(claims: readonly Claim[], existing: string | undefined): Claim | undefined {
  const byAge = claims.toSorted((a, b) => createdAt(a.node) - createdAt(b.node));
  const leadsTo = (address: string | undefined) => byAge.find(({ gateway }) => gateway === address);
  return (existing === undefined ? undefined : (leadsTo(existing) ?? leadsTo(undefined))) ?? byAge[0];
}

function isUnreported({ status }: V1Node): boolean {
  return !status?.conditions?.some(({ type }) => type === "NetworkUnavailable");
}

/** A Node in a manifest does not exist yet, so it is the youngest. */
function createdAt({ metadata }: V1Node): number {
  const { creationTimestamp } = metadata ?? {};
  return creationTimestamp ? new Date(creationTimestamp).getTime() : Number.MAX_SAFE_INTEGER;
}

function nameOf({ metadata }: V1Node): string {
  return metadata?.name ?? "";
}

function isFirstOfNode(refusal: RefusedRoute, index: number, all: readonly RefusedRoute[]): boolean {
  return all.findIndex(({ node, reason }) => node === refusal.node && reason === refusal.reason) === index;
}

function routeSpec({ id: networkId }: Network, { destination, gateway }: Network["routes"][number]): RouteSpec {
  return { kind: "route", networkId, destination, gateway };
}

/** The pod CIDRs of a Node, each once. IPv6 CIDRs are skipped, because Hetzner routes IPv4 only. */
function claimsOf(node: V1Node, { servers, network }: RouteView): readonly Claim[] {
  const ranges = [...new Set(ipv4RangesOf(node))];
  if (ranges.length === 0) return [];
  const server = findServer(node, servers);
  const gateway = addressIn(network, server);
  const isOurs = server !== undefined || parseProviderId(node.spec?.providerID).kind === "cloud";
  const problem = isOurs && gateway === undefined ? explain(server, network) : undefined;
  return ranges.map((destination) => ({ node, destination, gateway, problem }));
}

function explain(server: Server | undefined, network: Network): string {
  if (!server) return "its server does not exist in this project";
  return `server ${server.name} is not attached to network ${network.name}: attach it`;
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
function withinLimit(wanted: readonly WantedRoute[], stale: readonly RouteSpec[], network: Network) {
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
    .map((node) => ({ node: nameOf(node), reason, isFinal: true }));
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
