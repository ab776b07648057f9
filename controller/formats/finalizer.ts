/** The framework's own finalizer, so that either controller can take over from the other. */
export const FINALIZER = "service.kubernetes.io/load-balancer-cleanup";
