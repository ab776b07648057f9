/** Whether the server behind a node still exists and runs, and what that means for the Node. */
import type { V1Node, V1Taint } from "@kubernetes/client-node";
import type { Server } from "../../hcloud/api.ts";
import type { RobotState } from "../../robot/api.ts";
import { findServer } from "./metadata.ts";
import { parseProviderId } from "./provider-id.ts";

/** On nodes whose server is off; a taint is known by key and effect. */
export const SHUTDOWN_TAINT: V1Taint = { key: "node.cloudprovider.kubernetes.io/shutdown", effect: "NoSchedule" };

/** What is to be done about one node. */
export type LifecycleVerdict =
  | { readonly kind: "keep" }
  /** The list lacks its server: a direct read has to say the same before anything happens. */
  | { readonly kind: "ask"; readonly serverId: number }
  | { readonly kind: "taint"; readonly taints: readonly V1Taint[] }
  | { readonly kind: "delete" }
  /** It would be deleted, but the whole picture is not to be believed. */
  | { readonly kind: "hold"; readonly reason: string };

/** What direct reads said, by server id: the server, or nothing when there is none. A read that failed is not in it. */
export type Witnesses = ReadonlyMap<number, Server | undefined>;

const KEEP: LifecycleVerdict = { kind: "keep" };

/** True when kubelet says so; a node without the condition is not Ready. */
export function isReady({ status }: V1Node): boolean {
  return status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
}

/** True for nodes whose cloud server has to be looked at: not Ready, and possibly one of ours. */
export function isSuspect(node: V1Node): boolean {
  const { kind } = parseProviderId(node.spec?.providerID);
  return isAdrift(node) && (kind === "cloud" || kind === "none");
}

/** The number of the dedicated server that has to be looked at, if the node is on one. */
export function suspectRobot(node: V1Node): number | undefined {
  const id = parseProviderId(node.spec?.providerID);
  return id.kind === "robot" && isAdrift(node) ? id.number : undefined;
}

function isAdrift(node: V1Node): boolean {
  return !isReady(node) && node.metadata?.deletionTimestamp === undefined;
}

/**
 * | Ready | ProviderID | server in the list | direct read | verdict |
 * | --- | --- | --- | --- | --- |
 * | yes | any | – | – | the shutdown taint goes |
 * | no | ours, or none and found by name | off | – | the shutdown taint comes |
 * | no | ours, or none and found by name | otherwise | – | keep; the taint stays until the node is Ready |
 * | no | ours | missing | not made, or failed | ask |
 * | no | ours | missing | found | as if listed |
 * | no | ours | missing | not found | delete |
 * | no | none, broken or foreign | missing | – | keep: it was never ours |
 */
export function decideLifecycle(node: V1Node, servers: readonly Server[], witnesses: Witnesses): LifecycleVerdict {
  if (isReady(node)) return withoutShutdownTaint(node);
  if (!isSuspect(node)) return KEEP;
  const listed = findServer(node, servers);
  if (listed) return followStatus(node, listed);
  const id = parseProviderId(node.spec?.providerID);
  if (id.kind !== "cloud") return KEEP;
  if (!witnesses.has(id.id)) return { kind: "ask", serverId: id.id };
  const read = witnesses.get(id.id);
  return read ? followStatus(node, read) : { kind: "delete" };
}

/** Verdicts for all nodes. When the project knows none of several nodes, the token is another project's: none is deleted. */
export function decideLifecycles(
  nodes: readonly V1Node[],
  servers: readonly Server[],
  witnesses: Witnesses,
): readonly { readonly node: V1Node; readonly verdict: LifecycleVerdict }[] {
  const ours = nodes.filter(({ spec }) => parseProviderId(spec?.providerID).kind === "cloud");
  const isOtherProject = ours.length > 1 && !ours.some((node) => findServer(node, servers));
  return nodes.map((node) => {
    const verdict = decideLifecycle(node, servers, witnesses);
    return { node, verdict: verdict.kind === "delete" && isOtherProject ? held(ours.length) : verdict };
  });
}

/** As above, for a node that is not Ready on a dedicated server. */
export function decideRobotLifecycle(node: V1Node, state: RobotState): LifecycleVerdict {
  if (state === "missing") return { kind: "delete" };
  return state === "off" ? withShutdownTaint(node) : KEEP;
}

function held(count: number): LifecycleVerdict {
  const reason = `its server is not found, but neither is that of any of the ${count} nodes: check that HCLOUD_TOKEN belongs to this cluster's project, or delete the node yourself`;
  return { kind: "hold", reason };
}

function followStatus(node: V1Node, { status }: Server): LifecycleVerdict {
  return status === "off" ? withShutdownTaint(node) : KEEP;
}

function withShutdownTaint({ spec }: V1Node): LifecycleVerdict {
  const taints = spec?.taints ?? [];
  return taints.some(isShutdownTaint) ? KEEP : { kind: "taint", taints: [...taints, SHUTDOWN_TAINT] };
}

function withoutShutdownTaint({ spec }: V1Node): LifecycleVerdict {
  const taints = spec?.taints ?? [];
  const kept = taints.filter((taint) => !isShutdownTaint(taint));
  return kept.length === taints.length ? KEEP : { kind: "taint", taints: kept };
}

function isShutdownTaint({ key, effect }: V1Taint): boolean {
  return key === SHUTDOWN_TAINT.key && effect === SHUTDOWN_TAINT.effect;
}
