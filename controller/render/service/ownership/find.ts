/** The load balancer of a Service among all listed ones. */
import { SERVICE_UID_LABEL } from "../../../../stacks/units/names.ts";
import type { LoadBalancer } from "../../../hcloud/api.ts";

/** How a Service identifies its load balancer. */
export interface Wanted {
  readonly uid: string;
  readonly name: string;
  /** Takes precedence over the name. */
  readonly id?: number;
}

/**
 * | labelled with the Service's UID | with the given id or, if none is given, the name | result |
 * | --- | --- | --- |
 * | one | – | `own` |
 * | several | – | `ambiguous` |
 * | none | one without an owner | `adoptable` |
 * | none | another Service's | `taken` |
 * | none | none, though an id was given | `missing` |
 * | none | none | `none` |
 */
export type FoundBalancer =
  | { readonly kind: "own"; readonly balancer: LoadBalancer }
  | { readonly kind: "adoptable"; readonly balancer: LoadBalancer }
  | { readonly kind: "ambiguous"; readonly ids: readonly number[] }
  | { readonly kind: "taken"; readonly balancer: LoadBalancer; readonly owner: string }
  | { readonly kind: "missing"; readonly id: number }
  | { readonly kind: "none" };

/** Finds the load balancer, by label first. */
export function findBalancer(balancers: readonly LoadBalancer[], { uid, name, id }: Wanted): FoundBalancer {
  const own = balancers.filter(({ labels }) => labels[SERVICE_UID_LABEL] === uid);
  const [first] = own;
  if (own.length > 1) return { kind: "ambiguous", ids: own.map((balancer) => balancer.id) };
  if (first) return { kind: "own", balancer: first };
  const balancer = balancers.find((one) => (id === undefined ? one.name === name : one.id === id));
  if (!balancer) return id === undefined ? { kind: "none" } : { kind: "missing", id };
  const owner = balancer.labels[SERVICE_UID_LABEL];
  return owner === undefined ? { kind: "adoptable", balancer } : { kind: "taken", balancer, owner };
}
