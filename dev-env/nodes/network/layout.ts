/** Which links, addresses and routes the state of the cloud requires. Pure. */
import { CONTROL_PLANE_PRIVATE } from "./addresses.ts";

/** A machine with its addresses. */
export interface Host {
  /** Id of its server. */
  readonly id: number;
  readonly publicIp: string | undefined;
  /** Its addresses in the private network, the own one first and then alias addresses; none if it is not attached. */
  readonly privateIps: readonly string[];
}

/** The private network as the API describes it. */
export interface PrivateNetwork {
  readonly routes: readonly { readonly destination: string; readonly gateway: string }[];
  /** Private addresses of load balancers. */
  readonly balancers: readonly string[];
}

/** Names of a machine's namespace and links. Interface names have at most 15 characters. */
export const namesOf = (id: number) => ({
  namespace: `server-${id}`,
  publicPeer: `pub-${id}`,
  privatePeer: `net-${id}`,
});

/** The link of the private network's router to load balancers and control plane. */
export const UPLINK = "uplink";

/**
 * The routing table of the private network's router, by destination. Like Hetzner's, it only knows addresses of
 * machines that are attached, and routes whose gateway is one of them: packets for anything else are dropped.
 */
export function routerTable(hosts: readonly Host[], network: PrivateNetwork): ReadonlyMap<string, string> {
  const links = new Map(hosts.flatMap(({ id, privateIps }) => privateIps.map((ip) => [ip, namesOf(id).privatePeer])));
  const table = new Map([...links].map(([ip, link]) => [`${ip}/32`, `dev ${link}`]));
  for (const ip of [...network.balancers, CONTROL_PLANE_PRIVATE]) table.set(`${ip}/32`, `dev ${UPLINK}`);
  for (const { destination, gateway } of network.routes) {
    const link = links.get(gateway);
    if (link !== undefined) table.set(destination, `via ${gateway} dev ${link} onlink`);
  }
  return table;
}

/** `ip` commands that turn one routing table into another. Removals come first: a destination may change its link. */
export function changesBetween(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  const gone = [...before.keys()].filter((destination) => !after.has(destination));
  const changed = [...after].filter(([destination, how]) => before.get(destination) !== how);
  return [
    ...gone.map((destination) => `route del ${destination}`),
    ...changed.map(([destination, how]) => `route replace ${destination} ${how}`),
  ];
}
