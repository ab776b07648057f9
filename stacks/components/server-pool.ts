/** The Pulumi component of a pool of equal servers. */
import * as hcloud from "@pulumi/hcloud";
import * as pulumi from "@pulumi/pulumi";
import { partName } from "../units/names.ts";
import { COMPONENT_TYPE, type Labels } from "./component.ts";

/** A spread placement group takes this many servers. */
export const MAX_SPREAD = 10;

/** Servers of one type in one location. */
export interface ServerPoolArgs {
  readonly serverType: pulumi.Input<string>;
  readonly image: pulumi.Input<string>;
  readonly location: pulumi.Input<string>;
  readonly labels?: Labels;
  readonly sshKeyIds?: readonly pulumi.Input<string>[];
  readonly firewallIds?: readonly pulumi.Input<number>[];
  /** Name of a placement group that keeps the servers on different hosts; it takes `MAX_SPREAD` of them. Absent means none. */
  readonly placementGroup?: pulumi.Input<string>;
  /** The subnet of their private addresses, such as `4711-10.0.0.0/24`. Absent means no private network. */
  readonly subnetId?: pulumi.Input<string>;
  /** By a name of your choice, which becomes part of the resource's name. */
  readonly servers: Readonly<Record<string, ServerArgs>>;
}

/** What differs between the servers of a pool. */
export interface ServerArgs {
  /** Name in the project and host name. */
  readonly name: pulumi.Input<string>;
  /** Private address; absent means that the API chooses one. */
  readonly ip?: pulumi.Input<string>;
  /** What the server does on its first boot. Stored as a secret. */
  readonly userData?: pulumi.Input<string>;
}

/** A server of a pool. */
export interface PoolServer {
  readonly serverId: pulumi.Output<number>;
  readonly ipv4: pulumi.Output<string>;
}

/**
 * A pool of equal servers. A change that needs a new server (type, image, user data) replaces it, old server first,
 * because names are unique. The provider could resize a server, but would leave it switched off.
 *
 * @example
 * ```ts
 * const pool = new ServerPool("workers", {
 *   serverType: "cx23",
 *   image: "ubuntu-24.04",
 *   location: "fsn1",
 *   subnetId: network.subnetIds.machines,
 *   servers: { "1": { name: "worker-1", ip: "10.0.0.11" }, "2": { name: "worker-2", ip: "10.0.0.12" } },
 * });
 * export const address = pool.servers["1"].ipv4;
 * ```
 */
export class ServerPool extends pulumi.ComponentResource {
  /** The servers by their name in the arguments. */
  readonly servers: Readonly<Record<string, PoolServer>>;

  constructor(name: string, args: ServerPoolArgs, opts?: pulumi.ComponentResourceOptions) {
    super(COMPONENT_TYPE["server-pool"], name, {}, opts);
    const { placementGroup, labels = {} } = args;
    const group =
      placementGroup === undefined
        ? undefined
        : new hcloud.PlacementGroup(
            partName(name, "placement-group"),
            { name: placementGroup, type: "spread", labels },
            { parent: this },
          );
    const common = {
      serverType: args.serverType,
      image: args.image,
      location: args.location,
      labels,
      sshKeys: [...(args.sshKeyIds ?? [])],
      firewallIds: [...(args.firewallIds ?? [])],
      ...(group && { placementGroupId: group.id.apply(Number) }),
    };
    const declared = Object.entries(args.servers).map(([key, server]) => {
      const inputs = { ...common, ...serverInputs(server, args.subnetId) };
      const options = { parent: this, deleteBeforeReplace: true, replaceOnChanges: ["serverType"] };
      const { id, ipv4Address } = new hcloud.Server(partName(name, `server-${key}`), inputs, options);
      return [key, { serverId: id.apply(Number), ipv4: ipv4Address }] as const;
    });
    this.servers = Object.fromEntries(declared);
    this.registerOutputs({ servers: this.servers });
  }
}

function serverInputs({ name, ip, userData }: ServerArgs, subnetId: pulumi.Input<string> | undefined) {
  return {
    name,
    ...(userData !== undefined && { userData: pulumi.secret(userData) }),
    // Without empty alias addresses the provider detaches and attaches the server on every run.
    ...(subnetId !== undefined && { networks: [{ subnetId, ...(ip !== undefined && { ip }), aliasIps: [] }] }),
  };
}
