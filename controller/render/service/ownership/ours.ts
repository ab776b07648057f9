/** Which Services are ours, and what they ask for. */
import type { V1Service } from "@kubernetes/client-node";
import type { ServiceRef } from "../../../../stacks/units/spec.ts";
import { FINALIZER } from "../../../formats/finalizer.ts";
import type { Parser } from "../../../formats/values.ts";

/** Which Services are served, by `loadBalancerClass`. */
export interface ServedClasses {
  /** The class to serve; none when absent. */
  readonly name?: string;
  /** Whether Services without a class are served. */
  readonly classless: boolean;
}

/** The official controller's behaviour: only Services without a class. */
const CLASSLESS: ServedClasses = { classless: true };

/** A class; with a leading plus, Services without a class are served, too. Empty means only those. */
export const servedClasses: Parser<ServedClasses> = (text) => {
  if (text === "") return { value: CLASSLESS };
  const name = text.replace(/^\+/, "");
  const isClass = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name);
  return isClass && name.length <= 317
    ? { value: { name, classless: text.startsWith("+") } }
    : { allowed: "a class such as example.com/lotse, or +example.com/lotse to also serve Services without a class" };
};

/**
 * | Service | intent |
 * | --- | --- |
 * | of another class | `none`, even with our finalizer |
 * | being deleted, or no longer of type LoadBalancer, with our finalizer | `retire` |
 * | type LoadBalancer | `balance` |
 * | anything else | `none` |
 */
export type Intent = "balance" | "retire" | "none";

/** What a Service asks for. */
export function intentOf(service: V1Service, served: ServedClasses = CLASSLESS): Intent {
  const { spec, metadata } = service;
  const { loadBalancerClass, type } = spec ?? {};
  if (loadBalancerClass !== undefined && loadBalancerClass !== served.name) return "none";
  // A Service of another type has lost its class: only its finalizer and the owner label show whether it was ours.
  if (loadBalancerClass === undefined && type === "LoadBalancer" && !served.classless) return "none";
  const isWanted = type === "LoadBalancer" && metadata?.deletionTimestamp === undefined;
  if (isWanted) return "balance";
  return metadata?.finalizers?.includes(FINALIZER) ? "retire" : "none";
}

/** `default/web`. */
export function serviceName({ metadata }: V1Service): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}

/** The reference by which specs and units name a Service. */
export function serviceRef({ metadata }: V1Service): ServiceRef {
  return { namespace: metadata?.namespace ?? "", name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
}
