/** The Pulumi component of the machines of a Kubernetes cluster, composed of the other components. */
import * as hcloud from "@pulumi/hcloud";
import * as pulumi from "@pulumi/pulumi";
import ipaddr from "ipaddr.js";
import { partName } from "../units/names.ts";
import { COMPONENT_TYPE } from "./component.ts";
import { Firewall } from "./firewall.ts";
import { LoadBalancer } from "./load-balancer.ts";
import { Network } from "./network.ts";
import { ServerPool, type ServerPoolArgs } from "./server-pool.ts";

/** The machines of a cluster, and how they are connected. */
export interface ClusterArgs {
  /** Begins the name of every resource in the project: `<name>-network`, `<name>-worker-1`. */
  readonly name: string;
  /** Labels of every resource. */
  readonly labels: Readonly<Record<string, string>>;
  readonly location: pulumi.Input<string>;
  readonly network: {
    /** All addresses: those of the machines, and those of pods if they are reached by routes. */
    readonly ipRange: string;
    /** Addresses of the machines, from the 31st: ten for control planes and their load balancer, then ten for each pool. */
    readonly subnet: string;
    readonly zone: pulumi.Input<string>;
  };
  readonly image: pulumi.Input<string>;
  /** OpenSSH public key that may log in to the machines. */
  readonly sshPublicKey: pulumi.Input<string>;
  /** Ranges that may reach SSH and the API server. */
  readonly allowFrom: readonly string[];
  readonly apiPort: number;
  /** Several control planes get a load balancer in front of their API servers. */
  readonly controlPlanes: { readonly count: number; readonly serverType: pulumi.Input<string> };
  /** In this order they get their addresses: ten for each pool. Append pools; inserting one moves those after it. */
  readonly pools: readonly PoolArgs[];
  /** What a machine does on its first boot. */
  readonly userData: (machine: Machine) => pulumi.Input<string>;
}

/** Worker machines of one type. */
export interface PoolArgs {
  readonly name: string;
  readonly count: number;
  readonly serverType: pulumi.Input<string>;
}

/** What a machine's first boot depends on. */
export interface Machine {
  readonly role: "control-plane" | "worker";
  /** Name of its pool, `control-plane` for control planes. */
  readonly pool: string;
  /** Counts from 1 in every pool. */
  readonly index: number;
  readonly ip: string;
  /** Private address of the API: the control plane's, or the load balancer's in front of several. */
  readonly apiIp: string;
  /** Public address of the load balancer, if there is one. */
  readonly apiPublicIp?: pulumi.Output<string>;
  /**
   * Id of the only control plane, for workers: they do not trust the certificates of another one, so a new control plane
   * needs new workers. Absent if there are several, where a new one joins the others.
   */
  readonly controlPlaneId?: pulumi.Output<number>;
}

/** Positions in the subnet. Lower ones remain for a controller's load balancers, which get the lowest free address. */
const OFFSET = { controlPlane: 30, balancer: 39, pool: 40 } as const;
/** How many machines a pool may have: addresses, and places in a spread placement group. */
const POOL_SIZE = 10;

/**
 * The machines of a Kubernetes cluster: network, firewall, SSH key, control planes, worker pools, and a load balancer in
 * front of the API if there are several control planes. What runs on the machines is up to `userData`.
 *
 * @example
 * ```ts
 * const cluster = new Cluster("dev", {
 *   name: "dev",
 *   labels: { environment: "dev" },
 *   location: "fsn1",
 *   network: { ipRange: "10.0.0.0/8", subnet: "10.0.0.0/24", zone: "eu-central" },
 *   image: "ubuntu-24.04",
 *   sshPublicKey: "ssh-ed25519 AAAA…",
 *   allowFrom: ["198.51.100.0/24"],
 *   apiPort: 6443,
 *   controlPlanes: { count: 3, serverType: "cx23" },
 *   pools: [{ name: "worker", count: 2, serverType: "cx33" }],
 *   userData: ({ role, apiIp }) => renderCloudInit(role, apiIp),
 * });
 * export const api = cluster.apiAddress;
 * ```
 */
export class Cluster extends pulumi.ComponentResource {
  readonly networkId: pulumi.Output<number>;
  /** Public address of the API: the load balancer's, or the first control plane's. */
  readonly apiAddress: pulumi.Output<string>;
  /** By index, from 1. */
  readonly controlPlanes: ServerPool;
  readonly workers: Readonly<Record<string, ServerPool>>;
  /** Public addresses by name of the server: `<name>-worker-1`. */
  readonly addresses: Readonly<Record<string, pulumi.Output<string>>>;
  readonly apiBalancer: LoadBalancer | undefined;
  readonly #args: ClusterArgs;

  constructor(name: string, args: ClusterArgs, opts?: pulumi.ComponentResourceOptions) {
    super(COMPONENT_TYPE.cluster, name, {}, opts);
    this.#args = args;
    const network = this.#network();
    const surroundings = this.#surroundings(partName(name, "ssh-key"), network);
    const [serverIds, setServerIds] = pulumi.deferredOutput<Readonly<Record<string, number>>>();
    const apiIp = addressIn(args.network.subnet, isHighlyAvailable(args) ? OFFSET.balancer : OFFSET.controlPlane + 1);
    const balancer = isHighlyAvailable(args) ? this.#balancer(network, apiIp, serverIds) : undefined;
    const { controlPlanes, pools } = args;

    const pool = { ...controlPlanes, name: "control-plane" };
    const api = { apiIp, ...(balancer && { apiPublicIp: balancer.ipv4 }) };
    this.controlPlanes = this.#pool(pool, OFFSET.controlPlane, { ...surroundings, ...api });
    setServerIds(pulumi.output(idsOf(this.controlPlanes)));
    const first = serverOf(this.controlPlanes, 1);
    const join = { ...api, ...(!balancer && { controlPlaneId: first.serverId }) };
    const declared = pools.map((worker, position) => {
      const offset = OFFSET.pool + POOL_SIZE * position;
      return [worker.name, this.#pool(worker, offset, { ...surroundings, ...join })] as const;
    });
    this.workers = Object.fromEntries(declared);
    this.addresses = addressesOf(args.name, { "control-plane": this.controlPlanes, ...this.workers });
    this.networkId = network.networkId;
    this.apiBalancer = balancer;
    this.apiAddress = balancer && isPublic(args) ? balancer.ipv4 : first.ipv4;
    this.registerOutputs({ networkId: this.networkId, apiAddress: this.apiAddress });
  }

  #network(): Network {
    const { ipRange, subnet, zone: networkZone } = this.#args.network;
    const subnets = { machines: { ipRange: subnet, networkZone } };
    return new Network(this.#named("network"), { ...this.#tagged("network"), ipRange, subnets }, { parent: this });
  }

  /** What all servers share. */
  #surroundings(sshKey: string, network: Network): Surroundings {
    const { allowFrom: sourceIps, apiPort, image, location, labels, sshPublicKey: publicKey } = this.#args;
    const firewall = new Firewall(
      this.#named("firewall"),
      {
        ...this.#tagged("firewall"),
        rules: [
          { protocol: "tcp", port: "22", sourceIps, description: "SSH" },
          { protocol: "tcp", port: String(apiPort), sourceIps, description: "Kubernetes API" },
          { protocol: "icmp", sourceIps, description: "ping" },
        ],
      },
      { parent: this },
    );
    const options = { parent: this, deleteBeforeReplace: true }; // names are unique
    const { id } = new hcloud.SshKey(sshKey, { ...this.#tagged("ssh-key"), publicKey }, options);
    const subnetId = subnetOf(network);
    return { image, location, labels, sshKeyIds: [id], firewallIds: [firewall.firewallId], subnetId };
  }

  /** No firewall protects a load balancer: it is public only if everyone may reach the API anyway. */
  #balancer(network: Network, ip: string, ids: pulumi.Output<Readonly<Record<string, number>>>): LoadBalancer {
    const { apiPort: port, controlPlanes, location } = this.#args;
    const healthCheck = { protocol: "tcp", port, intervalSeconds: 5, timeoutSeconds: 3, retries: 3 };
    const indexes = Array.from({ length: controlPlanes.count }, (_, index) => String(index + 1));
    return new LoadBalancer(
      this.#named("api"),
      {
        ...this.#tagged("api"),
        type: "lb11",
        location,
        network: { subnetId: subnetOf(network), ip, publicInterface: isPublic(this.#args) },
        listeners: [{ listenPort: port, destinationPort: port, protocol: "tcp", healthCheck }],
        targets: Object.fromEntries(
          indexes.map((index) => [
            `control-plane-${index}`,
            { serverId: ids.apply((all) => all[index] ?? 0), usePrivateIp: true },
          ]),
        ),
      },
      { parent: this },
    );
  }

  #pool({ name: pool, count, serverType }: PoolArgs, offset: number, around: Surroundings & Joining): ServerPool {
    const { name, network, userData } = this.#args;
    const { apiIp, apiPublicIp, controlPlaneId, ...shared } = around;
    if (count > POOL_SIZE) throw new Error(`pool ${pool}: at most ${POOL_SIZE} machines, not ${count}`);
    const role = offset === OFFSET.controlPlane ? "control-plane" : "worker";
    const api = { apiIp, ...(apiPublicIp && { apiPublicIp }), ...(controlPlaneId && { controlPlaneId }) };
    const machines = Array.from({ length: count }, (_, position) => {
      const index = position + 1;
      const ip = addressIn(network.subnet, offset + index);
      const machine = { name: `${name}-${pool}-${index}`, ip, userData: userData({ role, pool, index, ip, ...api }) };
      return [String(index), machine] as const;
    });
    const placementGroup = `${name}-${pool}`;
    const args = { ...shared, serverType, placementGroup, servers: Object.fromEntries(machines) };
    return new ServerPool(this.#named(pool), args, { parent: this });
  }

  #named(part: string): string {
    return `${this.#args.name}-${part}`;
  }

  #tagged(part: string) {
    return { name: this.#named(part), labels: this.#args.labels };
  }
}

type Surroundings = Omit<ServerPoolArgs, "serverType" | "placementGroup" | "servers">;
type Joining = Pick<Machine, "apiIp" | "apiPublicIp" | "controlPlaneId">;

function isHighlyAvailable({ controlPlanes }: ClusterArgs): boolean {
  return controlPlanes.count > 1;
}

function isPublic({ allowFrom }: ClusterArgs): boolean {
  return allowFrom.includes("0.0.0.0/0");
}

/** The address at a position of a range: 2 in 10.0.0.0/24 is 10.0.0.2. */
function addressIn(range: string, position: number): string {
  const [base] = ipaddr.IPv4.parseCIDR(range);
  const bytes = base.toByteArray();
  const number = bytes.reduce((sum, byte) => sum * 256 + byte, 0) + position;
  return [24, 16, 8, 0].map((shift) => Math.floor(number / 2 ** shift) % 256).join(".");
}

function subnetOf({ subnetIds }: Network): pulumi.Output<string> {
  const { machines } = subnetIds;
  if (!machines) throw new Error("the network has no subnet for machines");
  return machines;
}

function serverOf({ servers }: ServerPool, index: number) {
  const server = servers[String(index)];
  if (!server) throw new Error("a cluster needs at least one control plane");
  return server;
}

function addressesOf(name: string, pools: Readonly<Record<string, ServerPool>>) {
  const addresses = Object.entries(pools).flatMap(([pool, { servers }]) =>
    Object.entries(servers).map(([index, { ipv4 }]) => [`${name}-${pool}-${index}`, ipv4] as const),
  );
  return Object.fromEntries(addresses);
}

function idsOf({ servers }: ServerPool): Readonly<Record<string, pulumi.Output<number>>> {
  return Object.fromEntries(Object.entries(servers).map(([key, { serverId }]) => [key, serverId]));
}
