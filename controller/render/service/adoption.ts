/** Which load balancer a Service may use: its own, one handed over to it, or one that has no owner; and why not. */
import type { V1Service } from "@kubernetes/client-node";
import { SERVICE_UID_LABEL } from "../../../stacks/units/names.ts";
import type { ServiceRef } from "../../../stacks/units/spec.ts";
import { consentOf, isHandedTo, isReleasedBy, releaserOf } from "../../formats/marks.ts";
import type { LoadBalancer } from "../../hcloud/api.ts";
import { OPTIONS, PREFIX } from "./options/annotations.ts";
import { serviceName } from "./ours.ts";

/** Which load balancers without an owner a Service may adopt: those it names, or only those with a label that names it. */
export type AdoptionMode = "named" | "labelled";

/** How a Service identifies its load balancer. */
export interface Wanted {
  readonly service: ServiceRef;
  readonly name: string;
  /** Takes precedence over the name. */
  readonly id?: number;
}

/** What decides about load balancers that are not the Service's own. */
export interface AdoptionRules {
  readonly mode?: AdoptionMode;
  /** All Services of the cluster. */
  readonly services: readonly V1Service[];
}

/**
 * How a load balancer comes to a Service that does not own it.
 *
 * | takeover | the load balancer | belongs to others |
 * | --- | --- | --- |
 * | `found` | was not made for a Service | everything on it |
 * | `returned` | was left behind by a Service of the same namespace and name | what is marked, and what the Service does not ask for |
 * | `handed over` | was made for another Service, and an operator consented | what is marked |
 */
export type Takeover = "found" | "returned" | "handed over";

/**
 * A load balancer is identified by the Service's UID as its owner, then by an operator's consent with that UID, then by
 * the id and else the name in the Service's annotations.
 *
 * | owner | left behind by | consent to this Service | result |
 * | --- | --- | --- | --- |
 * | this Service | – | – | `own`; `ambiguous` if there are several |
 * | a Service of this cluster | – | – | `taken` |
 * | another | – | yes | `adoptable`, handed over |
 * | another | – | no | `taken` |
 * | none | the same namespace and name | – | `adoptable`, returned |
 * | none | another Service | yes | `adoptable`, handed over |
 * | none | another Service | no | `reserved` |
 * | none | none | yes, or to no Service in mode `named` | `adoptable`, found |
 * | none | none | to another Service | `reserved` |
 * | none | none | to no Service in mode `labelled` | `unlabelled` |
 */
export type FoundBalancer =
  | { readonly kind: "own"; readonly balancer: LoadBalancer }
  | { readonly kind: "adoptable"; readonly balancer: LoadBalancer; readonly takeover: Takeover }
  | { readonly kind: "ambiguous"; readonly ids: readonly number[] }
  | { readonly kind: "taken"; readonly balancer: LoadBalancer; readonly owner: string }
  | { readonly kind: "reserved"; readonly balancer: LoadBalancer; readonly reservedFor: Partial<ServiceRef> }
  | { readonly kind: "unlabelled"; readonly balancer: LoadBalancer }
  | { readonly kind: "missing"; readonly id: number }
  | { readonly kind: "none" };

/** Finds the load balancer of a Service. */
export function findBalancer(
  balancers: readonly LoadBalancer[],
  wanted: Wanted,
  rules: AdoptionRules = { services: [] },
): FoundBalancer {
  const { service, name, id } = wanted;
  const own = balancers.filter(({ labels }) => labels[SERVICE_UID_LABEL] === service.uid);
  const [first] = own;
  if (own.length > 1) return { kind: "ambiguous", ids: own.map((balancer) => balancer.id) };
  if (first) return { kind: "own", balancer: first };
  const balancer =
    balancers.find(({ labels }) => isHandedTo(labels, service.uid)) ??
    balancers.find((one) => (id === undefined ? one.name === name : one.id === id));
  if (!balancer) return id === undefined ? { kind: "none" } : { kind: "missing", id };
  return claim(balancer, service, rules);
}

function claim(balancer: LoadBalancer, service: ServiceRef, { mode, services }: AdoptionRules): FoundBalancer {
  const { labels } = balancer;
  const owner = labels[SERVICE_UID_LABEL];
  const isHandedOver = isConsent(labels, service);
  if (owner !== undefined) {
    const isAlive = services.some(({ metadata }) => metadata?.uid === owner);
    return isHandedOver && !isAlive
      ? { kind: "adoptable", balancer, takeover: "handed over" }
      : { kind: "taken", balancer, owner };
  }
  if (isReleasedBy(labels, service)) return { kind: "adoptable", balancer, takeover: "returned" };
  const releaser = releaserOf(labels);
  if (isHandedOver) return { kind: "adoptable", balancer, takeover: releaser ? "handed over" : "found" };
  const consent = consentOf(labels);
  if (releaser || Object.keys(consent).length > 0)
    return { kind: "reserved", balancer, reservedFor: releaser ?? consent };
  return mode === "labelled" ? { kind: "unlabelled", balancer } : { kind: "adoptable", balancer, takeover: "found" };
}

/** Whether labels allow a Service to adopt the load balancer: namespace and name, and the UID where one is given. */
function isConsent(labels: LoadBalancer["labels"], { uid, namespace, name }: ServiceRef): boolean {
  const consent = consentOf(labels);
  return consent.namespace === namespace && consent.name === name && (consent.uid ?? uid) === uid;
}

/** A result that leaves the Service without a load balancer. */
export type Unusable = FoundBalancer & { readonly kind: "ambiguous" | "taken" | "reserved" | "unlabelled" | "missing" };

/** Why a Service cannot use the load balancer, and the remedy, for an Event. */
export function explainUnusable(found: Unusable, service: V1Service, services: readonly V1Service[]): string {
  if (found.kind === "ambiguous")
    return `load balancers ${found.ids.join(" and ")} carry this Service's label ${SERVICE_UID_LABEL}: remove it from all but one`;
  if (found.kind === "missing")
    return `annotation ${PREFIX}${OPTIONS.id.annotation}: load balancer ${found.id} does not exist in this project`;
  const { id, name } = found.balancer;
  const which = `load balancer "${name}" (id ${id})`;
  const remedy = `hand it over with \`${adoptCommand(service, id)}\`, or use another name or id`;
  switch (found.kind) {
    case "taken": {
      const owner = services.find(({ metadata }) => metadata?.uid === found.owner);
      return owner
        ? `${which} already belongs to Service ${serviceName(owner)}: use another name or id`
        : `${which} already belongs to the Service with UID ${found.owner}, which is not in this cluster: ${remedy}`;
    }
    case "reserved": {
      const { namespace, name: of, uid } = found.reservedFor;
      const who = namespace === undefined && of === undefined ? `the Service with UID ${uid}` : `${namespace}/${of}`;
      return `${which} is reserved for ${who}: ${remedy}`;
    }
    case "unlabelled":
      return `${which} has no label that lets this Service adopt it: ${remedy}`;
  }
}

/** The command with which an operator hands a load balancer over. */
function adoptCommand(service: V1Service, id: number): string {
  return `lotse adopt ${serviceName(service)} --load-balancer ${id}`;
}
