/** Limits of load balancer types, and which nodes become targets when there are too many. */
import type { V1Node } from "@kubernetes/client-node";
import type { BalancerType } from "../../../hcloud/api.ts";

/** Maximum numbers for a load balancer type. */
export interface Limits {
  readonly listeners: number;
  readonly targets: number;
}

/** The limits of a type. Undefined when the type is not listed: then the API enforces them. */
export function limitsOf(types: readonly BalancerType[], name: string): Limits | undefined {
  const type = types.find((one) => one.name === name);
  return type && { listeners: type.max_services, targets: type.max_targets };
}

/**
 * Chooses as many candidates as there are places, deterministically: zones take turns, in the order of their
 * candidates. A new node never displaces an older one of its zone.
 */
export function spreadOverZones<T>(
  candidates: readonly { readonly node: V1Node; readonly target: T }[],
  places: number,
): { readonly chosen: readonly T[]; readonly leftOut: readonly string[] } {
  const zones = Map.groupBy(candidates, ({ node }) => node.metadata?.labels?.["topology.kubernetes.io/zone"] ?? "");
  const rows = [...zones.entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, members]) => members.map((member, turn) => ({ member, turn })));
  const inOrder = rows.toSorted((a, b) => a.turn - b.turn).map(({ member }) => member);
  return {
    chosen: inOrder.slice(0, places).map(({ target }) => target),
    leftOut: inOrder.slice(places).map(({ node }) => node.metadata?.name ?? ""),
  };
}
