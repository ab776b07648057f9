/** Which Services are ours, and what they ask for. */
import type { V1Service } from "@kubernetes/client-node";
import type { ServiceRef } from "../../stacks/spec.ts";

/** Keeps a Service until its balancer is gone; shared with the official controller. */
export const FINALIZER = "service.kubernetes.io/load-balancer-cleanup";

/**
 * | Service | wish |
 * | --- | --- |
 * | of another class | `none`, its finalizer is not ours either |
 * | being deleted, or no longer of type LoadBalancer, with our finalizer | `release` |
 * | type LoadBalancer | `balance` |
 * | anything else | `none` |
 */
export type Wish = "balance" | "release" | "none";

export function wishOf(service: V1Service): Wish {
  const { spec, metadata } = service;
  if (spec?.loadBalancerClass !== undefined) return "none";
  const isWanted = spec?.type === "LoadBalancer" && metadata?.deletionTimestamp === undefined;
  if (isWanted) return "balance";
  return metadata?.finalizers?.includes(FINALIZER) ? "release" : "none";
}

export function serviceRef({ metadata }: V1Service): ServiceRef {
  return { namespace: metadata?.namespace ?? "", name: metadata?.name ?? "", uid: metadata?.uid ?? "" };
}
