/**
 * The outputs of the cluster's stack, which other Pulumi programs read. A contract: additions keep the version, anything
 * else raises it. docs/reference/outputs.md documents it.
 */

/** All outputs. Objects that are not served, or not yet, are absent. */
export interface StackOutputs {
  readonly schemaVersion: 1;
  /** By `namespace/name`. */
  readonly services: Readonly<Record<string, ServiceOutput>>;
  /** By name. */
  readonly nodes: Readonly<Record<string, NodeOutput>>;
  /** By destination. */
  readonly routes: Readonly<Record<string, RouteOutput>>;
}

/** A Service and its load balancer. */
export interface ServiceOutput {
  readonly uid: string;
  readonly loadBalancerId: number;
  /** Name of the load balancer. */
  readonly name: string;
  /** Public addresses; absent when the public interface is off. */
  readonly ipv4?: string;
  readonly ipv6?: string;
  readonly privateIp?: string;
  /** The host name that replaces the addresses in the Service's status. */
  readonly hostname?: string;
  readonly ports: readonly { readonly port: number; readonly nodePort: number; readonly protocol: string }[];
}

/** What Lotse writes to a Node. */
export interface NodeOutput {
  readonly providerID: string;
  readonly kind: "cloud" | "robot";
  readonly serverId: number;
  readonly labels: Readonly<Record<string, string>>;
  readonly addresses: readonly { readonly type: string; readonly address: string }[];
  readonly podCIDRs: readonly string[];
}

/** A route of the network. */
export interface RouteOutput {
  readonly gateway: string;
  /** The Node whose pods it leads to. */
  readonly node: string;
}
