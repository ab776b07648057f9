/** The Pulumi component of one network. */
import * as hcloud from "@pulumi/hcloud";
import * as pulumi from "@pulumi/pulumi";
import { partName } from "../units/names.ts";
import { COMPONENT_TYPE, type Labels } from "./component.ts";

/** A network and its subnets. */
export interface NetworkArgs {
  readonly name: pulumi.Input<string>;
  /** All addresses of the network: subnets and the destinations of routes lie inside. */
  readonly ipRange: pulumi.Input<string>;
  readonly labels?: Labels;
  readonly deleteProtection?: pulumi.Input<boolean>;
  /** By a name of your choice, which becomes part of the resource's name. */
  readonly subnets: Readonly<Record<string, SubnetArgs>>;
}

/** A subnet. Servers and load balancers get their private addresses from it. */
export interface SubnetArgs {
  readonly ipRange: pulumi.Input<string>;
  readonly networkZone: pulumi.Input<string>;
  /** `cloud` (the default) or `vswitch`, which needs `vswitchId`. */
  readonly type?: pulumi.Input<string>;
  readonly vswitchId?: pulumi.Input<number>;
}

/**
 * A network and its subnets. Refer to a subnet where you can: a server that only knows the network may be created
 * before its subnet exists, and fails.
 *
 * @example
 * ```ts
 * const network = new Network("network", {
 *   name: "production",
 *   ipRange: "10.0.0.0/8",
 *   subnets: { machines: { ipRange: "10.0.0.0/24", networkZone: "eu-central" } },
 * });
 * const subnetId = network.subnetIds.machines;
 * ```
 */
export class Network extends pulumi.ComponentResource {
  readonly networkId: pulumi.Output<number>;
  /** Ids of the subnets by their name in the arguments, such as `4711-10.0.0.0/24`. */
  readonly subnetIds: Readonly<Record<string, pulumi.Output<string>>>;

  constructor(name: string, args: NetworkArgs, opts?: pulumi.ComponentResourceOptions) {
    super(COMPONENT_TYPE.network, name, {}, opts);
    const { subnets, ...inputs } = args;
    const network = new hcloud.Network(partName(name, "network"), inputs, { parent: this });
    const networkId = network.id.apply(Number);
    const part = { parent: this, deletedWith: network, deleteBeforeReplace: true };
    const declared = Object.entries(subnets).map(([key, subnet]) => {
      const given = { networkId, type: "cloud", ...subnet };
      return [key, new hcloud.NetworkSubnet(partName(name, `subnet-${key}`), given, part).id] as const;
    });
    this.networkId = networkId;
    this.subnetIds = Object.fromEntries(declared);
    this.registerOutputs({ networkId, subnetIds: this.subnetIds });
  }
}
