/** Which addresses load balancers have, and at which they reach their targets: on loopback, or in a routed network. Pure. */
import { privateIp } from "../resources/load-balancer-view.ts";
import { publicIpv4 } from "../resources/server-view.ts";
import { cidr, contains, parseIp } from "../state/cidr.ts";
import type { Project } from "../state/project.ts";
import type { LoadBalancerRecord } from "../state/records.ts";

/** Both ends of connections to a target. Without a host, the target is unreachable. */
export interface Path {
  readonly host: string | undefined;
  /** The load balancer's address to connect from; absent leaves it to the operating system. */
  readonly localAddress?: string;
}

/** Addresses of one kind of data plane. */
export interface Reach {
  /** Addresses on which a load balancer listens. */
  readonly listensOn: (balancer: LoadBalancerRecord) => readonly string[];
  readonly toServer: (balancer: LoadBalancerRecord, server: number, usesPrivateIp: boolean) => Path;
  readonly toIp: (balancer: LoadBalancerRecord, ip: string) => Path;
}

const publicAddress = ({ public_net }: LoadBalancerRecord) =>
  public_net.enabled && public_net.ipv4.ip !== null ? [public_net.ipv4.ip] : [];

/** Everything on loopback: private and public targets are reached at the same address, stopped servers not at all. */
export function loopbackReach(project: Project): Reach {
  return {
    listensOn: publicAddress,
    toServer: (_balancer, id) => {
      const server = project.servers.get(id);
      return { host: server?.status === "running" ? server.backend : undefined };
    },
    // Other addresses are not contacted, so that such targets stay unhealthy.
    toIp: (_balancer, ip) => ({ host: ip.startsWith("127.") ? ip : undefined }),
  };
}

/** Every server and load balancer at its own addresses. Private targets are reached from the private address. */
export function routedReach(project: Project): Reach {
  const fromPublic = (balancer: LoadBalancerRecord, host: string | undefined): Path => {
    const [localAddress] = publicAddress(balancer);
    return { host, ...(localAddress && { localAddress }) };
  };
  const fromPrivate = ({ private_net }: LoadBalancerRecord, host: string | undefined): Path => {
    const localAddress = private_net[0]?.ip;
    return localAddress === undefined ? { host: undefined } : { host, localAddress };
  };
  return {
    listensOn: (balancer) => [...publicAddress(balancer), ...balancer.private_net.map(({ ip }) => ip)],
    toServer: (balancer, id, usesPrivateIp) => {
      const server = project.servers.get(id);
      if (!server) return { host: undefined };
      return usesPrivateIp
        ? fromPrivate(balancer, privateIp(balancer, server))
        : fromPublic(balancer, publicIpv4(project, server));
    },
    toIp: (balancer, ip) => {
      const range = project.networks.get(balancer.private_net[0]?.network ?? 0)?.ip_range;
      const isInside = range !== undefined && contains(cidr(range), parseIp(ip) ?? -1);
      return isInside ? fromPrivate(balancer, ip) : fromPublic(balancer, ip);
    },
  };
}
