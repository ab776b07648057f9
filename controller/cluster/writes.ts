/** What is to be written back to Kubernetes after a turn, as data. */
import type { V1LoadBalancerIngress, V1Node, V1Service } from "@kubernetes/client-node";
import type { RunReport } from "../../stacks/run.ts";
import type { Desired } from "./desired.ts";
import type { Drift } from "./drift.ts";
import type { Plan } from "./plan.ts";
import { routeWrites } from "./route-writes.ts";
import { serviceWritesAfter, serviceWritesBefore } from "./service-writes.ts";

export type Write =
  | { readonly kind: "claim"; readonly service: V1Service }
  | { readonly kind: "ingress"; readonly service: V1Service; readonly ingress: readonly V1LoadBalancerIngress[] }
  | { readonly kind: "release"; readonly service: V1Service }
  | { readonly kind: "network-condition"; readonly node: V1Node; readonly isAvailable: boolean }
  | { readonly kind: "event"; readonly event: Notice };

/** Something a user should read on an object. */
export interface Notice {
  readonly about:
    | { readonly kind: "Service"; readonly object: V1Service }
    | { readonly kind: "Node"; readonly object: V1Node };
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** What it is said about, for warnings that are worth saying again when that has changed. */
  readonly occasion?: string;
}

/**
 * Before the cloud is touched: the finalizer of every Service that wants a balancer, what is wrong with those refused, and
 * what is about to happen to whom.
 */
export function writesBefore(desired: Desired, due: Plan, drifted: readonly Drift[]): readonly Write[] {
  return serviceWritesBefore(desired, due, drifted);
}

/** After it: status, finalizers and conditions, each on the proof of what the cloud now lists. */
export function writesAfter(
  desired: Desired,
  outcomes: RunReport["outcomes"],
  nodes: readonly V1Node[],
): readonly Write[] {
  return [
    ...serviceWritesAfter(desired, outcomes),
    ...(desired.routes ? routeWrites(desired.routes, desired.present, { outcomes, nodes }) : []),
  ];
}
