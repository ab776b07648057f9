/** Nodes → targets of a load balancer. */
import type { V1Node } from "@kubernetes/client-node";
import ipaddr from "ipaddr.js";
import { targetPart } from "../../../stacks/units/names.ts";
import type { TargetSpec } from "../../../stacks/units/spec.ts";
import type { LabelSelector } from "../../formats/label-selector.ts";
import { FALSE } from "../../formats/values.ts";
import type { Server } from "../../hcloud/api.ts";
import { findServer } from "../node/metadata.ts";
import { parseProviderId } from "../node/provider-id.ts";
import { spreadOverZones } from "./cloud-checks.ts";

const EXCLUDE_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers";
const AUTOSCALER_TAINT = "ToBeDeletedByClusterAutoscaler";

/** Which nodes become targets, and how they are reached. */
export interface TargetOptions {
  readonly selector: LabelSelector;
  readonly usePrivateIp: boolean;
  readonly networkId?: number;
  /** The parts of existing targets. Without `networkId`, no other private targets are rendered. */
  readonly present?: readonly string[];
  /** Whether nodes on dedicated servers become targets, by IP address. */
  readonly robots?: boolean;
  /** Maximum number of targets; unlimited when absent. */
  readonly places?: number;
}

/** Targets in a stable order, and the nodes that cannot be targets, each with the reason. */
export interface Targets {
  readonly targets: readonly TargetSpec[];
  readonly leftOut: readonly { readonly node: string; readonly reason: string }[];
  /** Nodes beyond the maximum number of targets. */
  readonly beyondLimit: readonly string[];
}

/** Rendered targets of one snapshot, by options: most Services want the same. */
const rendered = new WeakMap<readonly V1Node[], WeakMap<readonly Server[], Map<LabelSelector, Map<string, Targets>>>>();

/**
 * Renders the targets. A node that cannot be one is left out and reported; it never blocks the others. Each combination of
 * options is rendered once per snapshot.
 */
export function renderTargets(nodes: readonly V1Node[], servers: readonly Server[], options: TargetOptions): Targets {
  const { selector, ...others } = options;
  const ofNodes = rendered.get(nodes) ?? new WeakMap<readonly Server[], Map<LabelSelector, Map<string, Targets>>>();
  const ofServers = ofNodes.get(servers) ?? new Map<LabelSelector, Map<string, Targets>>();
  const ofSelector = ofServers.get(selector) ?? new Map<string, Targets>();
  const key = JSON.stringify(others, OPTION_KEYS);
  const targets = ofSelector.get(key) ?? chooseTargets(nodes, servers, options);
  rendered.set(nodes, ofNodes.set(servers, ofServers.set(selector, ofSelector.set(key, targets))));
  return targets;
}

/** All options but the selector, in a fixed order. */
const OPTION_KEYS = ["usePrivateIp", "networkId", "present", "robots", "places"] satisfies (keyof TargetOptions)[];

function chooseTargets(nodes: readonly V1Node[], servers: readonly Server[], options: TargetOptions): Targets {
  // By server or address: a node that registered again under another name still has its old Node object.
  const targets = new Map<string, { node: V1Node; target: TargetSpec }>();
  const leftOut: { node: string; reason: string }[] = [];
  for (const node of nodes) {
    if (!isEligible(node) || !options.selector(node.metadata?.labels ?? {})) continue;
    const target = targetOf(node, servers, options);
    if (typeof target === "string") leftOut.push({ node: node.metadata?.name ?? "", reason: target });
    else if (target) targets.set(targetPart(target), { node, target });
  }
  const candidates = [...targets.values()].toSorted((a, b) => inOrder(a.target, b.target));
  const spread = spreadOverZones(candidates, options.places ?? candidates.length);
  return { targets: spread.chosen.toSorted(inOrder), leftOut, beyondLimit: spread.leftOut };
}

/** The target of a node, the reason why it has none, or undefined for a node that is not ours. */
function targetOf(node: V1Node, servers: readonly Server[], options: TargetOptions): TargetSpec | string | undefined {
  const target = candidateOf(node, servers, options);
  const isPrivate = options.usePrivateIp && typeof target === "object";
  if (!isPrivate || options.networkId !== undefined || options.present?.includes(targetPart(target))) return target;
  return "HCLOUD_NETWORK is not set, so its attachment to the network cannot be checked";
}

/** The same, regardless of whether the network is known. */
function candidateOf(node: V1Node, servers: readonly Server[], options: TargetOptions): ReturnType<typeof targetOf> {
  const { kind } = parseProviderId(node.spec?.providerID);
  if (kind === "robot" && options.robots) return robotTarget(node, options);
  if (kind !== "cloud" && kind !== "none") return undefined;
  const server = findServer(node, servers);
  if (!server) return "its server does not exist";
  return unusable(server, options) ?? { kind: "server", serverId: server.id, usePrivateIp: options.usePrivateIp };
}

/**
 * By the node's own address, which needs no request to Robot. Unlike the official controller, never falls back from a
 * private to a public address (T5).
 */
function robotTarget({ status }: V1Node, { usePrivateIp }: TargetOptions): TargetSpec | string {
  const wanted = usePrivateIp ? "InternalIP" : "ExternalIP";
  const found = status?.addresses?.find(({ type, address }) => type === wanted && isIPv4(address));
  return found ? { kind: "ip", ip: found.address } : `its dedicated server has no IPv4 address of type ${wanted}`;
}

function isIPv4(address: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(address);
}

/** Whether a node is in the framework's node set: not being deleted or excluded. Health checks cover readiness (S5). */
export function isEligible({ metadata, spec }: V1Node): boolean {
  const exclusion = metadata?.labels?.[EXCLUDE_LABEL];
  return (
    metadata?.deletionTimestamp === undefined &&
    (exclusion === undefined || FALSE.has(exclusion)) &&
    !spec?.taints?.some(({ key }) => key === AUTOSCALER_TAINT)
  );
}

function unusable(server: Server, { usePrivateIp, networkId }: TargetOptions): string | undefined {
  if (usePrivateIp) {
    const isAttached = networkId === undefined || server.private_net.some(({ network }) => network === networkId);
    return isAttached ? undefined : "its server is not attached to the cluster's network";
  }
  return server.public_net.ipv4 ? undefined : "its server has no public IPv4 address";
}

/** Whether targets are reached over the network, judged by the first one; undefined without targets. */
export function usesPrivateIp(targets: readonly TargetSpec[]): boolean | undefined {
  const first = targets.find(({ kind }) => kind === "server") ?? targets[0];
  if (first?.kind !== "ip") return first?.usePrivateIp;
  return isIPv4(first.ip) && ipaddr.IPv4.parse(first.ip).range() === "private";
}

function inOrder(a: TargetSpec, b: TargetSpec): number {
  if (a.kind === "server" && b.kind === "server") return a.serverId - b.serverId;
  return a.kind === "ip" && b.kind === "ip" ? a.ip.localeCompare(b.ip) : a.kind === "server" ? -1 : 1;
}
