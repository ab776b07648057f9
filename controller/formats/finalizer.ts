/** Keeps a Service until its load balancer is gone; shared with the official controller and must not change. */
export const FINALIZER = "service.kubernetes.io/load-balancer-cleanup";
