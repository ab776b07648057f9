/** Events about units that were changed outside the cluster: one for each repair. */
import type { V1Node } from "@kubernetes/client-node";
import { serviceKeyOf } from "../../stacks/units/names.ts";
import { type Drift, describeDrift } from "../guard/guard.ts";
import type { Rendered } from "../render/cluster.ts";
import { onNode, onService, type Write } from "./writes.ts";

/** From this number of repairs in an hour on, something else is probably at work. */
const OFTEN = 3;

/** An Event on the Service or Node of each unit. Each raises the count, because no repair is like the last. */
export function driftWrites(
  drifted: readonly Drift[],
  { services, routes }: Rendered,
  nodes: readonly V1Node[],
): readonly Write[] {
  return drifted.flatMap((drift): readonly Write[] => {
    const message = describe(drift) + (drift.times < OFTEN ? "" : AGAIN);
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

function describe({ unit, lost, differences }: Drift): string {
  if (unit.startsWith("route/")) {
    const what = lost ? "deleted" : `changed (${describeDrift(differences)})`;
    return `Route ${unit.slice("route/".length)} was ${what} outside the cluster and is being repaired.`;
  }
  const kind = unit.startsWith("certificate/") ? "Certificate" : "Load balancer";
  if (!lost || lost.kind === "route")
    return `${kind} was changed outside the cluster and is being repaired: ${describeDrift(differences)}.`;
  const consequence =
    lost.kind === "load-balancer" ? "Creating a new one; its addresses will change." : "Creating a new one.";
  return `${kind} ${lost.name} (id ${lost.id}) was deleted outside the cluster. ${consequence}`;
}
