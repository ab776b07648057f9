/** Which nodes a balancer sends traffic to. */
import type { V1Node } from "@kubernetes/client-node";
import ipaddr from "ipaddr.js";
import { targetPart } from "../../../stacks/units/names.ts";
import type { TargetSpec } from "../../../stacks/units/spec.ts";
import type { LabelSelector } from "../../formats/label-selector.ts";
import type { Server } from "../../hcloud/api.ts";
import { findServer } from "../node/metadata.ts";
import { parseProviderId } from "../node/provider-id.ts";
import { spreadOverZones } from "./checks/limits.ts";

const EXCLUDE_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers";
const AUTOSCALER_TAINT = "ToBeDeletedByClusterAutoscaler";
/** Texts that a Go program takes for false. */
const FALSE = new Set(["0", "f", "F", "false", "False", "FALSE"]);

export interface TargetOptions {
  readonly selector: LabelSelector;
  readonly usePrivateIp: boolean;
  readonly networkId?: number;
  /** Whether nodes on dedicated servers are targets, by their address. */
  readonly robots?: boolean;
  /** How many targets there may be; as many as wanted when absent. */
  readonly places?: number;
}

/** Targets in a stable order, and the nodes that should have been one but cannot, each with the reason. */
export interface Targets {
  readonly targets: readonly TargetSpec[];
  readonly leftOut: readonly { readonly node: string; readonly reason: string }[];
  /** Nodes that there is no place for. */
  readonly beyondLimit: readonly string[];
}

/** A node that cannot be a target is left out and named; it never keeps the others from being served. */
export function renderTargets(nodes: readonly V1Node[], servers: readonly Server[], options: TargetOptions): Targets {
  // By server or address: a node that was registered again under another name still has its old Node object.
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

/** The target of a node, why it has none, or nothing for a node that is not ours. */
function targetOf(node: V1Node, servers: readonly Server[], options: TargetOptions): TargetSpec | string | undefined {
  const { kind } = parseProviderId(node.spec?.providerID);
  if (kind === "robot" && options.robots) return robotTarget(node, options);
  if (kind !== "cloud" && kind !== "none") return undefined;
  const server = findServer(node, servers);
  if (!server) return "its server does not exist";
  return unusable(server, options) ?? { kind: "server", serverId: server.id, usePrivateIp: options.usePrivateIp };
}

/**
 * By an address that the node has, which needs no look at Robot. Traffic that is meant to be private never takes the public
 * way instead, as it does in the official controller (T5).
 */
function robotTarget({ status }: V1Node, { usePrivateIp }: TargetOptions): TargetSpec | string {
  const wanted = usePrivateIp ? "InternalIP" : "ExternalIP";
  const found = status?.addresses?.find(({ type, address }) => type === wanted && isIPv4(address));
  return found ? { kind: "ip", ip: found.address } : `its dedicated server has no IPv4 address of type ${wanted}`;
}

function isIPv4(address: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(address);
}

/** The framework's node set: neither leaving nor excluded. Readiness is for health checks to find out (S5). */
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
    const isAttached = server.private_net.some(({ network }) => network === networkId);
    return isAttached ? undefined : "its server is not attached to the cluster's network";
  }
  return server.public_net.ipv4 ? undefined : "its server has no public IPv4 address";
}

/** Whether both mean the same server or address, on whatever way it is reached. */
export function isSameTarget(a: TargetSpec, b: TargetSpec): boolean {
  return targetPart(a) === targetPart(b);
}

function inOrder(a: TargetSpec, b: TargetSpec): number {
  if (a.kind === "server" && b.kind === "server") return a.serverId - b.serverId;
  return a.kind === "ip" && b.kind === "ip" ? a.ip.localeCompare(b.ip) : a.kind === "server" ? -1 : 1;
}
