import { type ApiError, limitExceeded, refuse } from "../api/errors.ts";
import { type Cidr, cidr, contains, parseIp, renderIp } from "../state/cidr.ts";
import type { Project } from "../state/project.ts";
import type { LoadBalancerRecord, NetworkRecord, ServerRecord } from "../state/records.ts";
import { isReserved } from "./network-rules.ts";

/** Where a new member wants to be: its zone, and optionally an address or the range of a subnet. */
export interface Placement {
  readonly zone: string;
  readonly ip: string | undefined;
  readonly ipRange: Cidr | undefined;
}

/** Servers attached to the network, in id order. */
export function serversIn(project: Project, network: number): readonly ServerRecord[] {
  return project.servers.rowsWith(`network/${network}`);
}

/** Balancers attached to the network, in id order. */
export function balancersIn(project: Project, network: number): readonly LoadBalancerRecord[] {
  return project.loadBalancers.rowsWith(`network/${network}`);
}

/** Addresses members of the network hold, aliases included. */
export function memberIps(project: Project, network: number): readonly string[] {
  const ofServers = serversIn(project, network)
    .flatMap((server) => server.private_net)
    .filter((attachment) => attachment.network === network)
    .flatMap(({ ip, alias_ips }) => [ip, ...alias_ips]);
  return [...ofServers, ...balancersIn(project, network).flatMap((lb) => lb.private_net.map(({ ip }) => ip))];
}

/** The address a new member gets: the one asked for if it is free, else the first free one of the last fitting subnet. */
export function assignIp(project: Project, network: NetworkRecord, placement: Placement): string {
  const members = [project.servers, project.loadBalancers].map((table) => table.idsWith(`network/${network.id}`).size);
  if (members.reduce((a, b) => a + b, 0) >= project.behaviour.maxNetworkMembers) throw limitExceeded("network_members");
  const subnets = fittingSubnets(network, placement);
  if (subnets.length === 0) throw noRoom();
  if (placement.ip !== undefined) {
    checkFree(project, network, placement.ip);
    const ip = parseIp(placement.ip) ?? -1;
    if (!subnets.some((range) => contains(range, ip))) throw notAvailable();
    return placement.ip;
  }
  for (const subnet of subnets) {
    const ip = firstFree(project, network, subnet);
    if (ip !== undefined) return ip;
  }
  throw noRoom();
}

function noRoom(): ApiError {
  return refuse("no_subnet_available", "no subnet or IP available");
}

/** Subnets of the zone (and range, if given), last range first. */
function fittingSubnets(network: NetworkRecord, { zone, ipRange }: Placement): readonly Cidr[] {
  return network.subnets
    .filter((subnet) => subnet.network_zone === zone && subnet.type !== "vswitch")
    .map((subnet) => cidr(subnet.ip_range))
    .filter((range) => !ipRange || (range.first === ipRange.first && range.prefix === ipRange.prefix))
    .sort((a, b) => b.first - a.first);
}

function firstFree(project: Project, network: NetworkRecord, subnet: Cidr): string | undefined {
  for (let ip = subnet.first + 1; ip < subnet.last; ip += 1) {
    const text = renderIp(ip);
    if (!isReserved(network, subnet, ip) && !isTaken(project, network, text)) return text;
  }
  return undefined;
}

/** Refuses an address outside all subnets, a reserved one and one that a member holds. */
export function checkFree(project: Project, network: NetworkRecord, ip: string): void {
  const address = parseIp(ip) ?? -1;
  const subnet = network.subnets.map(({ ip_range }) => cidr(ip_range)).find((range) => contains(range, address));
  if (!subnet || isReserved(network, subnet, address) || isTaken(project, network, ip)) throw notAvailable();
}

function notAvailable(): ApiError {
  return refuse("ip_not_available", "IP not available");
}

function isTaken(project: Project, network: NetworkRecord, ip: string): boolean {
  const key = `ip/${network.id}/${ip}`;
  return project.servers.idsWith(key).size > 0 || project.loadBalancers.idsWith(key).size > 0;
}

/** Takes a server out of a network, and with it the private targets that led to it there. */
export function detachServer(project: Project, server: ServerRecord, network: number): ServerRecord {
  for (const balancer of balancersIn(project, network)) {
    const targets = balancer.targets.filter(
      (target) => !(target.type === "server" && target.use_private_ip && target.server.id === server.id),
    );
    if (targets.length < balancer.targets.length) project.loadBalancers.put({ ...balancer, targets });
  }
  const private_net = server.private_net.filter((attachment) => attachment.network !== network);
  return project.servers.put({ ...server, private_net });
}

/** Takes a balancer out of its network; private targets cannot stay. */
export function detachBalancer(balancer: LoadBalancerRecord): LoadBalancerRecord {
  const targets = balancer.targets.filter((target) => target.type === "ip" || !target.use_private_ip);
  return { ...balancer, private_net: [], targets };
}
