import type { V1Service } from "@kubernetes/client-node";

/** Keeps a Service until its load balancer is gone; shared with the official controller and must not change. */
export const FINALIZER = "service.kubernetes.io/load-balancer-cleanup";

/** Whether a Service has our finalizer: it has or had a load balancer. */
export function hasFinalizer({ metadata }: V1Service): boolean {
  return metadata?.finalizers?.includes(FINALIZER) ?? false;
}

/** A Service as it would be while it is being deleted and only our finalizer keeps it. */
export function asDeleted(service: V1Service): V1Service {
  return { ...service, metadata: { ...service.metadata, deletionTimestamp: new Date(0), finalizers: [FINALIZER] } };
}
