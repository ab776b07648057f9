/** The Pulumi component of one load balancer. */
import * as hcloud from "@pulumi/hcloud";
import * as pulumi from "@pulumi/pulumi";
import { attachmentInputs, balancerInputs, isPrivate, listenerInputs, targetInputs } from "../units/inputs.ts";
import { listenerPart, partName, rdnsPart } from "../units/names.ts";
import { COMPONENT_TYPE, type Labels } from "./component.ts";

/** A load balancer with its network, listeners and targets. */
export interface LoadBalancerArgs {
  /** Name in the project, where it must be unique. */
  readonly name: pulumi.Input<string>;
  readonly type: pulumi.Input<string>;
  /** Where it is created; or `networkZone`. An existing load balancer never moves, because it would lose its address. */
  readonly location?: pulumi.Input<string>;
  readonly networkZone?: pulumi.Input<string>;
  /** `round_robin` (the default) or `least_connections`. */
  readonly algorithm?: pulumi.Input<string>;
  readonly labels?: Labels;
  readonly deleteProtection?: pulumi.Input<boolean>;
  readonly network?: NetworkAttachmentArgs;
  /** Reverse DNS of the public addresses. An absent entry is left unchanged. */
  readonly reverseDns?: { readonly ipv4?: pulumi.Input<string>; readonly ipv6?: pulumi.Input<string> };
  readonly listeners?: readonly ListenerArgs[];
  /** By a name of your choice, which becomes part of the resource's name: a target keeps its resource while others change. */
  readonly targets?: Readonly<Record<string, TargetArgs>>;
}

/** How a load balancer is attached to a network: to any of its subnets, or to one of them. */
export interface NetworkAttachmentArgs {
  readonly networkId?: pulumi.Input<number>;
  /** In place of `networkId`: such as `4711-10.0.0.0/24`. */
  readonly subnetId?: pulumi.Input<string>;
  /** Absent means that the API chooses an address. */
  readonly ip?: pulumi.Input<string>;
  /** Whether it also has public addresses, which is the default. */
  readonly publicInterface?: pulumi.Input<boolean>;
}

/** One listen port. The port names the resource, so it is a plain number. */
export interface ListenerArgs {
  readonly listenPort: number;
  readonly destinationPort: pulumi.Input<number>;
  /** `tcp`, `http` or `https`. */
  readonly protocol: pulumi.Input<string>;
  readonly proxyProtocol?: pulumi.Input<boolean>;
  readonly http?: HttpArgs;
  readonly healthCheck?: HealthCheckArgs;
}

/** Options of an HTTP or HTTPS listener. */
export interface HttpArgs {
  readonly stickySessions?: pulumi.Input<boolean>;
  readonly cookieName?: pulumi.Input<string>;
  readonly cookieLifetimeSeconds?: pulumi.Input<number>;
  readonly timeoutIdleSeconds?: pulumi.Input<number>;
  readonly redirectHttp?: pulumi.Input<boolean>;
  readonly certificateIds?: readonly pulumi.Input<number>[];
}

/** How the targets of a listener are checked. */
export interface HealthCheckArgs {
  readonly protocol: pulumi.Input<string>;
  readonly port: pulumi.Input<number>;
  readonly intervalSeconds: pulumi.Input<number>;
  readonly timeoutSeconds: pulumi.Input<number>;
  readonly retries: pulumi.Input<number>;
  readonly http?: {
    readonly domain?: pulumi.Input<string>;
    readonly path?: pulumi.Input<string>;
    readonly response?: pulumi.Input<string>;
    readonly tls?: pulumi.Input<boolean>;
    readonly statusCodes?: readonly pulumi.Input<string>[];
  };
}

/** A server, or an address of a dedicated server. */
export interface TargetArgs {
  readonly serverId?: pulumi.Input<number>;
  readonly ip?: pulumi.Input<string>;
  /** Whether the server is reached over the network. Decides what the target depends on, so it is a plain boolean. */
  readonly usePrivateIp?: boolean;
}

/**
 * A load balancer with its network, listeners and targets.
 *
 * Parts are `deletedWith` the load balancer, so that removing it takes one call. Targets depend on the network,
 * because the provider sleeps and then fails if it adds a private target before the attachment exists.
 *
 * @example
 * ```ts
 * const web = new LoadBalancer("web", {
 *   name: "web",
 *   type: "lb11",
 *   location: "fsn1",
 *   network: { networkId: network.networkId },
 *   listeners: [{ listenPort: 80, destinationPort: 8080, protocol: "tcp" }],
 *   targets: { first: { serverId: server.id.apply(Number), usePrivateIp: true } },
 * });
 * export const address = web.ipv4;
 * ```
 */
export class LoadBalancer extends pulumi.ComponentResource {
  readonly loadBalancerId: pulumi.Output<number>;
  readonly ipv4: pulumi.Output<string>;
  readonly ipv6: pulumi.Output<string>;
  /** The address in the network; undefined without a network. */
  readonly privateIp: pulumi.Output<string | undefined>;

  constructor(name: string, args: LoadBalancerArgs, opts?: pulumi.ComponentResourceOptions) {
    super(COMPONENT_TYPE["load-balancer"], name, {}, opts);
    const balancer = new hcloud.LoadBalancer(
      partName(name, "balancer"),
      balancerInputs(args),
      // Moving would replace the load balancer, and an unexpected new address is worse than the old location.
      { parent: this, ignoreChanges: ["location", "networkZone"] },
    );
    this.loadBalancerId = balancer.id.apply(Number);
    this.ipv4 = balancer.ipv4;
    this.ipv6 = balancer.ipv6;
    this.privateIp = pulumi.output(this.#declareParts(name, args, balancer)?.ip);
    const { loadBalancerId, ipv4, ipv6, privateIp } = this;
    this.registerOutputs({ loadBalancerId, ipv4, ipv6, privateIp });
  }

  /** Declares everything that belongs to the load balancer. Returns its network attachment, if it has one. */
  #declareParts(name: string, args: LoadBalancerArgs, balancer: hcloud.LoadBalancer) {
    const { loadBalancerId } = this;
    const alone = { parent: this, deleteBeforeReplace: true };
    const part = { ...alone, deletedWith: balancer };
    const network =
      args.network &&
      new hcloud.LoadBalancerNetwork(
        partName(name, "network"),
        { loadBalancerId, ...attachmentInputs(args.network) },
        part,
      );
    for (const version of ["ipv4", "ipv6"] as const) {
      const dnsPtr = args.reverseDns?.[version];
      if (dnsPtr === undefined) continue;
      const inputs = { loadBalancerId, ipAddress: balancer[version], dnsPtr };
      new hcloud.Rdns(partName(name, rdnsPart(version)), inputs, part);
    }
    for (const listener of args.listeners ?? []) {
      const inputs = { loadBalancerId: balancer.id, ...listenerInputs(listener) };
      const options = usesResources(listener) ? alone : part;
      new hcloud.LoadBalancerService(partName(name, listenerPart(listener.listenPort)), inputs, options);
    }
    for (const [key, target] of Object.entries(args.targets ?? {})) {
      new hcloud.LoadBalancerTarget(
        partName(name, key),
        // Attaching a load balancer again drops its private targets. Taking the id from the attachment replaces them
        // with it. `replaceWith` would be clearer, but makes the engine write a newer state format.
        {
          loadBalancerId: network && isPrivate(target) ? network.loadBalancerId : loadBalancerId,
          ...targetInputs(target),
        },
        { ...part, dependsOn: network ? [network] : [] },
      );
    }
    return network;
  }
}

/** A certificate of the same program can only be deleted after its listener, which therefore needs its own deletion. */
function usesResources({ http }: ListenerArgs): boolean {
  return http?.certificateIds?.some((id) => pulumi.Output.isInstance(id)) ?? false;
}
