/** Which nodes a balancer sends traffic to. */
import type { V1Node } from "@kubernetes/client-node";
import type { TargetSpec } from "../../stacks/spec.ts";
import type { Server } from "../hcloud/api.ts";
import { findServer } from "../node/metadata.ts";
import { parseProviderId } from "../node/provider-id.ts";
import type { LabelSelector } from "./label-selector.ts";

const EXCLUDE_LABEL = "node.kubernetes.io/exclude-from-external-load-balancers";
const AUTOSCALER_TAINT = "ToBeDeletedByClusterAutoscaler";
/** Texts that a Go program takes for false. */
const FALSE = new Set(["0", "f", "F", "false", "False", "FALSE"]);

export interface TargetOptions {
  readonly selector: LabelSelector;
  readonly usePrivateIp: boolean;
  readonly networkId?: number;
}

/** Targets in a stable order, and the nodes that should have been one but cannot, each with the reason. */
export interface Targets {
  readonly targets: readonly TargetSpec[];
  readonly leftOut: readonly { readonly node: string; readonly reason: string }[];
}

/** A node that cannot be a target is left out and named; it never keeps the others from being served. */
export function renderTargets(nodes: readonly V1Node[], servers: readonly Server[], options: TargetOptions): Targets {
  // By server: a node that was registered again under another name still has its old Node object.
  const targets = new Map<number, TargetSpec>();
  const { usePrivateIp } = options;
  const leftOut: { node: string; reason: string }[] = [];
  for (const node of nodes) {
    if (!isEligible(node) || !options.selector(node.metadata?.labels ?? {})) continue;
    const id = parseProviderId(node.spec?.providerID);
    if (id.kind !== "cloud" && id.kind !== "none") continue;
    const server = findServer(node, servers);
    const reason = server ? unusable(server, options) : "its server does not exist";
    if (server && !reason) targets.set(server.id, { kind: "server", serverId: server.id, usePrivateIp });
    else leftOut.push({ node: node.metadata?.name ?? "", reason: reason ?? "" });
  }
  return { targets: [...targets.values()].toSorted(byServer), leftOut };
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

function byServer(a: TargetSpec, b: TargetSpec): number {
  return a.kind === "server" && b.kind === "server" ? a.serverId - b.serverId : 0;
}
