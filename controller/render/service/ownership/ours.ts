/** Which Services are ours, and what they ask for. */
import type { V1Service } from "@kubernetes/client-node";
import type { ServiceRef } from "../../../../stacks/units/spec.ts";
import { FINALIZER } from "../../../formats/finalizer.ts";
import type { Parser } from "../../../formats/values.ts";

/** Whose Services are served. */
export interface ServedClasses {
  /** `loadBalancerClass` that is ours; without it none is. */
  readonly name?: string;
  /** Whether those without a class are. */
  readonly classless: boolean;
}

/** As the official controller: those without a class. */
const CLASSLESS: ServedClasses = { classless: true };

/** A class, served alone; with a plus in front, beside those without a class. Empty means the latter only. */
export const servedClasses: Parser<ServedClasses> = (text) => {
  if (text === "") return { value: CLASSLESS };
  const name = text.replace(/^\+/, "");
  const isClass = /^([a-z0-9]([-a-z0-9.]*[a-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/.test(name);
  return isClass && name.length <= 317
    ? { value: { name, classless: text.startsWith("+") } }
    : { allowed: "a class such as example.com/lotse, or +example.com/lotse to serve Services without a class too" };
};

/**
 * | Service | intent |
 * | --- | --- |
 * | of another class | `none`, its finalizer is not ours either |
 * | being deleted, or no longer of type LoadBalancer, with our finalizer | `retire` |
 * | type LoadBalancer | `balance` |
 * | anything else | `none` |
 */
export type Intent = "balance" | "retire" | "none";

export function intentOf(service: V1Service, served: ServedClasses = CLASSLESS): Intent {
  const { spec, metadata } = service;
  const { loadBalancerClass, type } = spec ?? {};
  if (loadBalancerClass !== undefined && loadBalancerClass !== served.name) return "none";
  // A Service of another type has no class any more: with the finalizer it was somebody's, and the label says whose.
  if (loadBalancerClass === undefined && type === "LoadBalancer" && !served.classless) return "none";
  const isWanted = type === "LoadBalancer" && metadata?.deletionTimestamp === undefined;
  if (isWanted) return "balance";
  return metadata?.finalizers?.includes(FINALIZER) ? "retire" : "none";
}

/** `default/web`. */
export function serviceName({ metadata }: V1Service): string {
  return `${metadata?.namespace}/${metadata?.name}`;
}

export function serviceRef({ metadata }: V1Service): ServiceRef {
  return { namespace: metadata?.namespace ?? "", name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
}
