/** Pulumi components for Hetzner Cloud. The controller and the development environment are built from the same ones. */
export { Certificate, type CertificateArgs } from "./certificate.ts";
export { Cluster, type ClusterArgs, type Machine, type PoolArgs } from "./cluster.ts";
export { Firewall, type FirewallArgs, type FirewallRuleArgs } from "./firewall.ts";
export {
  type HealthCheckArgs,
  type HttpArgs,
  type ListenerArgs,
  LoadBalancer,
  type LoadBalancerArgs,
  type NetworkAttachmentArgs,
  type TargetArgs,
} from "./load-balancer.ts";
export { Network, type NetworkArgs, type SubnetArgs } from "./network.ts";
export { Route, type RouteArgs } from "./route.ts";
export { MAX_SPREAD, type PoolServer, type ServerArgs, ServerPool, type ServerPoolArgs } from "./server-pool.ts";
