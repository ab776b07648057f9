/** What happens to a Node whose server is off or gone. */
import type { V1Node, V1Taint } from "@kubernetes/client-node";
import type { Server } from "../../hcloud/api.ts";
import type { RobotState } from "../../robot/api.ts";
import { findServer } from "./metadata.ts";
import { parseProviderId } from "./provider-id.ts";

/** Taint of nodes whose server is off, matched by key and effect. */
export const SHUTDOWN_TAINT: V1Taint = { key: "node.cloudprovider.kubernetes.io/shutdown", effect: "NoSchedule" };

/** What to do with one node. */
export type LifecycleVerdict =
  | { readonly kind: "keep" }
  /** Its server is not listed: a direct read must confirm that first. */
  | { readonly kind: "ask"; readonly serverId: number }
  | { readonly kind: "taint"; readonly taints: readonly V1Taint[] }
  | { readonly kind: "delete" }
  /** It would be deleted, but the list of servers is implausible. */
  | { readonly kind: "hold"; readonly reason: string };

/** Results of direct reads by server id: the server, or undefined when it does not exist. Failed reads are absent. */
export type Witnesses = ReadonlyMap<number, Server | undefined>;

const KEEP: LifecycleVerdict = { kind: "keep" };
const OWN_PROJECT = "HCLOUD_TOKEN belongs to this cluster's project";

/** Whether kubelet reports Ready. A node without the condition is not Ready. */
export function isReady({ status }: V1Node): boolean {
  return status?.conditions?.find(({ type }) => type === "Ready")?.status === "True";
}

/** Whether a node's cloud server must be checked: the node is not Ready and may be one of ours. */
export function isSuspect(node: V1Node): boolean {
  const { kind } = parseProviderId(node.spec?.providerID);
  return isAdrift(node) && (kind === "cloud" || kind === "none");
}

/** The number of the dedicated server to check; undefined when the node is Ready or on no dedicated server. */
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
 * | yes | any | – | – | remove the shutdown taint |
 * | no | ours, or none and found by name | off | – | add the shutdown taint |
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

/** Verdicts for all nodes. If none of several nodes has a server, the token is for another project: none is deleted. */
export function decideLifecycles(nodes: readonly V1Node[], servers: readonly Server[], witnesses: Witnesses) {
  const ours = nodes.filter(({ spec }) => parseProviderId(spec?.providerID).kind === "cloud");
  const isOtherProject = ours.length > 1 && !ours.some((node) => findServer(node, servers));
  return nodes.map((node) => {
    const verdict = decideLifecycle(node, servers, witnesses);
    return { node, verdict: verdict.kind === "delete" && isOtherProject ? held(ours.length, OWN_PROJECT) : verdict };
  });
}

/** The verdict on a node that is not Ready, on a dedicated server. `strangers`: several nodes, none of which Robot knows. */
export function decideRobotLifecycle(node: V1Node, state: RobotState, strangers = 0): LifecycleVerdict {
  if (state === "missing")
    return strangers > 1 ? held(strangers, "ROBOT_USER belongs to this cluster's account") : { kind: "delete" };
  return state === "off" ? withShutdownTaint(node) : KEEP;
}

/** Numbers of the dedicated servers that nodes are on, Ready or not. */
export function robotNumbers(nodes: readonly V1Node[]): readonly number[] {
  const numbers = nodes.flatMap(({ spec }) => {
    const id = parseProviderId(spec?.providerID);
    return id.kind === "robot" ? [id.number] : [];
  });
  return [...new Set(numbers)];
}

function held(count: number, condition: string): LifecycleVerdict {
  const reason = `none of the ${count} Nodes' servers was found: check that ${condition}, or delete the Node yourself`;
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
