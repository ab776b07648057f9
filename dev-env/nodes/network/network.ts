/**
 * The networks of a world: this namespace is the internet, with load balancers, the control plane and clients. Every
 * machine has its own namespace, and the private network is a router in another one.
 */
import { run } from "../../toolchain/run.ts";
import { addRouter, FORWARDING, ip, runIn } from "../commands.ts";
import {
  BALANCERS,
  CLIENT,
  CONTROL_PLANE,
  CONTROL_PLANE_PRIVATE,
  METADATA,
  NETWORK_RANGE,
  PRIVATE_MTU,
  PUBLIC_GATEWAY,
} from "./addresses.ts";
import { type FirewalledServer, renderFirewalls } from "./firewall.ts";
import { changesBetween, type Host, namesOf, type PrivateNetwork, routerTable, UPLINK } from "./layout.ts";

const ROUTER = "private-network";
/** The link of this namespace to the private network. */
const PRIVATE = "private";
const NO_BALANCERS: PrivateNetwork = { routes: [], balancers: [] };

/** A public link must not be a way around the private network's routes. */
const SEPARATION = `
table inet separation {
  chain forward {
    type filter hook forward priority 0; policy accept;
    iifname "pub-*" oifname "${PRIVATE}" drop
    iifname "${PRIVATE}" oifname "pub-*" drop
  }
}
`;

/** The links and routes of all machines. Callers make one change at a time. */
export class Network {
  readonly #gateway: string;
  readonly #hosts = new Map<number, Host>();
  #state = NO_BALANCERS;
  #table: ReadonlyMap<string, string> = new Map();
  #firewalls = "";

  /** `gateway` is the router's address in the private network: the first of its range. */
  constructor(gateway: string) {
    this.#gateway = gateway;
  }

  /** Sets up this namespace and the private network's router. */
  async start(): Promise<void> {
    await run("sysctl", ["-qw", ...FORWARDING]);
    await addRouter(ROUTER);
    await ip([
      "link set lo up",
      ...[CLIENT, CONTROL_PLANE, METADATA].map((address) => `addr add ${address}/32 dev lo`),
      // Load balancers may listen on any address of their range.
      `route add local ${BALANCERS} dev lo table local`,
      `link add ${PRIVATE} mtu ${PRIVATE_MTU} type veth peer name ${UPLINK} mtu ${PRIVATE_MTU} netns ${ROUTER}`,
      `link set ${PRIVATE} up`,
      `addr add ${CONTROL_PLANE_PRIVATE}/32 dev ${PRIVATE}`,
    ]);
    await ip([`link set ${UPLINK} up`, `addr add ${this.#gateway}/32 dev lo`], ROUTER);
    await ip([
      `route add ${this.#gateway}/32 dev ${PRIVATE}`,
      `route add ${NETWORK_RANGE} via ${this.#gateway} dev ${PRIVATE} src ${CONTROL_PLANE_PRIVATE}`,
    ]);
    await run("nft", ["-f", "-"], { input: SEPARATION });
    await this.#route();
  }

  /** Creates the namespace of a machine, with its links. */
  async connect(host: Host): Promise<void> {
    const { namespace, publicPeer } = namesOf(host.id);
    await addRouter(namespace);
    this.#hosts.set(host.id, { ...host, privateIps: [] });
    if (host.publicIp !== undefined) {
      await ip([
        `link add ${publicPeer} type veth peer name eth0 netns ${namespace}`,
        `link set ${publicPeer} up`,
        `addr add ${PUBLIC_GATEWAY}/32 dev ${publicPeer}`,
        `route add ${host.publicIp}/32 dev ${publicPeer}`,
      ]);
      await ip(
        [
          "link set eth0 up",
          `addr add ${host.publicIp}/32 dev eth0`,
          `route add ${PUBLIC_GATEWAY}/32 dev eth0`,
          `route add default via ${PUBLIC_GATEWAY} dev eth0 src ${host.publicIp}`,
        ],
        namespace,
      );
    }
    await this.attach(host);
  }

  /** Makes the private link of a machine match its addresses. None means that it is detached. */
  async attach(host: Host): Promise<void> {
    const known = this.#hosts.get(host.id);
    if (!known || String(known.privateIps) === String(host.privateIps)) return;
    const { namespace, privatePeer } = namesOf(host.id);
    if (known.privateIps.length > 0) await ip([`link del ${privatePeer}`], ROUTER);
    this.#forget(privatePeer);
    const [own] = host.privateIps;
    if (own !== undefined) {
      const link = `link add ${privatePeer} mtu ${PRIVATE_MTU} type veth peer name enp7s0 mtu ${PRIVATE_MTU} netns ${namespace}`;
      await ip([link, `link set ${privatePeer} up`], ROUTER);
      await ip(
        [
          "link set enp7s0 up",
          ...host.privateIps.map((address) => `addr add ${address}/32 dev enp7s0`),
          // Nothing is on the link but the gateway.
          `route add ${this.#gateway}/32 dev enp7s0`,
          `route add ${NETWORK_RANGE} via ${this.#gateway} dev enp7s0 src ${own}`,
        ],
        namespace,
      );
    }
    this.#hosts.set(host.id, host);
    await this.#route();
  }

  /** Removes the links and the namespace of a machine whose processes have ended. */
  async disconnect(id: number): Promise<void> {
    const host = this.#hosts.get(id);
    if (!host) return;
    this.#hosts.delete(id);
    const { namespace, publicPeer, privatePeer } = namesOf(id);
    // The kernel removes links of a deleted namespace some time later, and until then their names are taken.
    if (host.publicIp !== undefined) await ip([`link del ${publicPeer}`]);
    if (host.privateIps.length > 0) await ip([`link del ${privatePeer}`], ROUTER);
    this.#forget(privatePeer);
    await run("ip", ["netns", "del", namespace]);
    await this.#route();
  }

  /** Applies routes and load balancer addresses of the private network. */
  async update(state: PrivateNetwork): Promise<void> {
    const before = new Set(this.#state.balancers);
    const after = new Set(state.balancers);
    this.#state = state;
    await ip([
      ...[...before].filter((it) => !after.has(it)).map((it) => `addr del ${it}/32 dev ${PRIVATE}`),
      ...[...after].filter((it) => !before.has(it)).map((it) => `addr add ${it}/32 dev ${PRIVATE}`),
    ]);
    await this.#route();
  }

  /** Replaces the rules of all firewalls. */
  async setFirewalls(servers: readonly FirewalledServer[]): Promise<void> {
    const rules = renderFirewalls(servers);
    if (rules === this.#firewalls) return;
    await run("nft", ["-f", "-"], { input: rules });
    this.#firewalls = rules;
  }

  /** The router's routes as the kernel has them, for tests. */
  async routes(): Promise<string> {
    return runIn(ROUTER, "ip", ["route"]);
  }

  async #route(): Promise<void> {
    const table = routerTable([...this.#hosts.values()], this.#state);
    await ip(changesBetween(this.#table, table), ROUTER);
    this.#table = table;
  }

  /** The kernel has removed the routes of a link that is gone. */
  #forget(link: string): void {
    this.#table = new Map([...this.#table].filter(([, how]) => !how.includes(`dev ${link}`)));
  }
}
