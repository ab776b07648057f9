/** Events about what a turn does not do: held-back removals, changes that wait for approval, incomplete lists. */
import type { V1Node } from "@kubernetes/client-node";
import { describeChanges } from "../guard/drift.ts";
import type { Plan, PlannedUnit } from "../guard/plan.ts";
import type { Observed, Rendered } from "../render/cluster.ts";
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

/** Changes that wait for approval, each on its Service. */
export function awaitingApproval(waiting: Plan, { services, existing }: Rendered, plan: string): readonly Write[] {
  return waiting.flatMap((step): readonly Write[] => {
    const service = services.find(({ unit }) => unit === step.unit)?.service;
    if (!service) return [];
    const what = describeStep(step, existing[step.unit] === undefined);
    return [onService(service, "PlanPending", `Waiting for approval: ${what}. Approve with: lotse approve ${plan}`)];
  });
}

function describeStep(step: PlannedUnit, isNew: boolean): string {
  if (step.kind === "remove") return "delete the load balancer";
  if (!isNew || step.spec.kind !== "load-balancer") return describeChanges(step.differences);
  return `create load balancer ${step.spec.name} of type ${step.spec.type}`;
}

/** A Node that is Ready although the API does not list its server. */
export function serverNotListed(node: V1Node): Write {
  const message = `Node ${node.metadata?.name} is Ready, but the Hetzner API does not list its server: its targets and routes stay as they are`;
  return onNode(node, "ServerNotListed", message);
}
