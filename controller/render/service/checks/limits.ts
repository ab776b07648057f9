/** What a type of balancer can hold, and who gets the places when there are too few. */
import type { V1Node } from "@kubernetes/client-node";
import type { BalancerType } from "../../../hcloud/api.ts";

export interface Limits {
  readonly listeners: number;
  readonly targets: number;
}

/** Nothing when the type is not listed: then the API has the last word. */
export function limitsOf(types: readonly BalancerType[], name: string): Limits | undefined {
  const type = types.find((one) => one.name === name);
  return type && { listeners: type.max_services, targets: type.max_targets };
}

/**
 * As many as there are places, the same ones every time: zones take turns, each with its longest-standing first. A node
 * that joins takes nobody's place.
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
