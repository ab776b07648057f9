/** The balancer of a Service among all that the cloud lists. */
import { SERVICE_UID_LABEL } from "../../stacks/names.ts";
import type { LoadBalancer } from "../hcloud/api.ts";

/**
 * | labelled with the Service's uid | with the wanted name | found |
 * | --- | --- | --- |
 * | one | – | `own` |
 * | several | – | `ambiguous` |
 * | none | without an owner | `adoptable` |
 * | none | another Service's | `taken` |
 * | none | none | `none` |
 */
export type FoundBalancer =
  | { readonly kind: "own"; readonly balancer: LoadBalancer }
  | { readonly kind: "adoptable"; readonly balancer: LoadBalancer }
  | { readonly kind: "ambiguous"; readonly ids: readonly number[] }
  | { readonly kind: "taken"; readonly owner: string }
  | { readonly kind: "none" };

export function findBalancer(balancers: readonly LoadBalancer[], uid: string, name: string): FoundBalancer {
  const own = balancers.filter(({ labels }) => labels[SERVICE_UID_LABEL] === uid);
  const [first] = own;
  if (own.length > 1) return { kind: "ambiguous", ids: own.map(({ id }) => id) };
  if (first) return { kind: "own", balancer: first };
  const named = balancers.find((balancer) => balancer.name === name);
  if (!named) return { kind: "none" };
  const owner = named.labels[SERVICE_UID_LABEL];
  return owner === undefined ? { kind: "adoptable", balancer: named } : { kind: "taken", owner };
}
