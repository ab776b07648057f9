/** Events about what a turn does not do: held-back removals, changes that wait for approval, incomplete lists. */
import type { V1Node } from "@kubernetes/client-node";
import type { PendingStep } from "../guard/approval.ts";
import type { Observed, Rendered } from "../render/cluster.ts";
import { serviceName } from "../render/service/ours.ts";
import { onNode, onService, type Write } from "./writes.ts";

/** Removals that the guard holds back. Their Nodes are gone, so the Event is on a Service that every cluster has. */
export function heldBack(stopped: string | undefined, { services, nodes }: Observed): readonly Write[] {
  if (stopped === undefined) return [];
  const service = services.find(({ metadata }) => metadata?.namespace === "default" && metadata.name === "kubernetes");
  const [node] = nodes;
  const message = `Removals held back: ${stopped}. If this is intended, restart the controller with a higher --guard-removals.`;
  if (service) return [onService(service, "RemovalsHeldBack", message)];
  return node ? [onNode(node, "RemovalsHeldBack", message)] : [];
}

/** Changes that wait for approval, each on its Service or Node. */
export function awaitingApproval(
  announced: readonly PendingStep[],
  { services }: Rendered,
  nodes: readonly V1Node[],
): readonly Write[] {
  return announced.flatMap(({ id, object, summary }): readonly Write[] => {
    const message = `Waiting for approval: ${summary}. Approve with: lotse approve ${id}`;
    const service = services.find((intent) => object === `Service ${serviceName(intent.service)}`)?.service;
    if (service) return [onService(service, "PlanPending", message)];
    const node = nodes.find(({ metadata }) => object === `Node ${metadata?.name}`);
    return node ? [onNode(node, "PlanPending", message)] : [];
  });
}

/** A Node that is Ready although the API does not list its server. */
export function serverNotListed(node: V1Node): Write {
  const message = `Node ${node.metadata?.name} is Ready, but the Hetzner API does not list its server: its targets and routes stay as they are`;
  return onNode(node, "ServerNotListed", message);
}
