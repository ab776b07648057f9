/** Events about a turn as a whole: what it repairs, what it holds back or waits for, and lists that it does not believe. */
import type { V1Node } from "@kubernetes/client-node";
import { rangeOf, serviceKeyOf } from "../../stacks/units/names.ts";
import type { PendingStep } from "../guard/approval.ts";
import { type Drift, describeDrift } from "../guard/drift.ts";
import type { Plan } from "../guard/plan.ts";
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
export function awaitingApproval(announced: readonly PendingStep[], { services }: Rendered, nodes: readonly V1Node[]) {
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

/** From this number of repairs in an hour on, something else is probably at work. */
const OFTEN = 3;

/**
 * An Event on the Service or Node of each unit. Each raises the count, because no repair is like the last. `plan` has the
 * repairs that are not held back for approval.
 */
export function driftWrites(
  drifted: readonly Drift[],
  { services, routes }: Rendered,
  { nodes, plan }: { readonly nodes: readonly V1Node[]; readonly plan: Plan },
): readonly Write[] {
  const passed = new Set(plan.map(({ unit }) => unit));
  return drifted.flatMap((drift): readonly Write[] => {
    const message = describe(drift, !passed.has(drift.unit)) + (drift.times < OFTEN ? "" : AGAIN);
    const details = { occasion: `${drift.unit} ${drift.at}` };
    const service = services.find(({ unit }) => serviceKeyOf(unit) === serviceKeyOf(drift.unit))?.service;
    if (service && !drift.unit.startsWith("route/"))
      return [onService(service, "LoadBalancerDrifted", message, details)];
    const route = routes?.wanted.find(({ spec }) => drift.unit === `route/${spec.destination}`);
    const node = nodes.find(({ metadata }) => metadata?.name === route?.node);
    return node ? [onNode(node, "RouteDrifted", message, details)] : [];
  });
}

const AGAIN = ` It was changed again, at least ${OFTEN} times in an hour: does something else manage it?`;

function describe({ unit, lost, differences }: Drift, isWaiting: boolean): string {
  const repair = isWaiting ? ". Its repair waits for approval" : " and is being repaired";
  const range = rangeOf(unit);
  if (range !== undefined) {
    const what = lost ? "deleted" : `changed (${describeDrift(differences)})`;
    return `Route ${range} was ${what} outside the cluster${repair}.`;
  }
  const kind = unit.startsWith("certificate/") ? "Certificate" : "Load balancer";
  if (!lost || lost.kind === "route")
    return `${kind} was changed outside the cluster${repair}: ${describeDrift(differences)}.`;
  const next = isWaiting ? "A new one waits for approval" : "A new one is being created";
  const consequence = lost.kind === "load-balancer" ? `${next}, with new addresses.` : `${next}.`;
  return `${kind} ${lost.name} (id ${lost.id}) was deleted outside the cluster. ${consequence}`;
}
