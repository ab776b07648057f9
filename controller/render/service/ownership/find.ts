/** The balancer of a Service among all that the cloud lists. */
import { SERVICE_UID_LABEL } from "../../../../stacks/units/names.ts";
import type { LoadBalancer } from "../../../hcloud/api.ts";

/** How a Service calls the balancer it wants. */
export interface Wanted {
  readonly uid: string;
  readonly name: string;
  /** Goes before the name. */
  readonly id?: number;
}

/**
 * | labelled with the Service's uid | with the wanted id, or without one the wanted name | found |
 * | --- | --- | --- |
 * | one | – | `own` |
 * | several | – | `ambiguous` |
 * | none | without an owner | `adoptable` |
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
