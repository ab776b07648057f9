/** Writes about routes to Nodes: the condition NetworkUnavailable, and Events. */
import type { V1Node } from "@kubernetes/client-node";
import type { RunReport } from "../../stacks/engine/run.ts";
import { differences } from "../../stacks/units/difference.ts";
import { routeUnit } from "../../stacks/units/names.ts";
import type { Rendered } from "../render/cluster.ts";
import type { RefusedRoute, WantedRoute } from "../render/route/routes.ts";
import { onNode, type Write } from "./writes.ts";

/** NetworkUnavailable becomes False when all routes of a Node are listed, and True when one could not be created. */
export function routeWrites({ routes, existing }: Rendered, outcomes: RunReport["outcomes"], nodes: readonly V1Node[]) {
  if (!routes) return [];
  const isMissing = ({ spec }: WantedRoute) => differences(spec, existing[routeUnit(spec)]).length > 0;
  return nodes.flatMap((node): readonly Write[] => {
    const isOfNode = (route: { readonly node: string }) => route.node === node.metadata?.name;
    const refused = routes.refused.filter(isOfNode);
    if (refused.length > 0) return refusalWrites(node, refused);
    const wanted = routes.wanted.filter(isOfNode);
    if (wanted.length === 0) return [];
    const missing = wanted.filter(isMissing);
    if (missing.length === 0) return condition(node, true);
    const failures = missing.flatMap(({ spec }) => {
      const outcome = outcomes[routeUnit(spec)];
      return outcome?.status === "failed" ? [`${spec.destination}: ${outcome.failure.message}`] : [];
    });
    return failures.length > 0 ? [...condition(node, false), failure(node, failures.join("; "))] : [];
  });
}

/**
 * A Node that has its route all the same keeps its condition: its network works. One Event for each kind of refusal, because
 * several with the same reason would replace each other in every turn.
 */
function refusalWrites(node: V1Node, refused: readonly RefusedRoute[]): readonly Write[] {
  const isUnavailable = refused.some(({ hasRoute }) => !hasRoute);
  const causes = Map.groupBy(refused, ({ isMisplaced = false }) => isMisplaced);
  const events = [...causes].map(([isMisplaced, all]) => {
    const cause = all.map(({ reason }) => reason).join("; ");
    return isMisplaced
      ? onNode(node, "ClusterCIDRMisconfigured", `No route is created: ${cause}.`)
      : failure(node, cause);
  });
  return [...(isUnavailable ? condition(node, false) : []), ...events];
}

/**
 * | existing condition | routes exist | a route failed |
 * | --- | --- | --- |
 * | already right | no write | no write |
 * | False, with another client's reason | no write | no write |
 * | anything else | False, RouteCreated | True, NoRouteCreated |
 *
 * The middle row differs from the framework, which overwrites (R29): a CNI that sets the condition owns it, and two writers
 * would overwrite each other for ever.
 */
function condition(node: V1Node, isAvailable: boolean): readonly Write[] {
  const existing = node.status?.conditions?.find(({ type }) => type === "NetworkUnavailable");
  const isForeign = existing?.status === "False" && existing.reason !== "RouteCreated";
  const isRight =
    existing?.status === (isAvailable ? "False" : "True") &&
    existing.reason === (isAvailable ? "RouteCreated" : "NoRouteCreated");
  return isForeign || isRight ? [] : [{ kind: "network-condition", node, isAvailable }];
}

function failure(node: V1Node, cause: string): Write {
  return onNode(node, "FailedToCreateRoute", `Could not create route for node ${node.metadata?.name}: ${cause}`);
}
