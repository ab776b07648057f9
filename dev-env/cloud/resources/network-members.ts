/** Servers and load balancers in a network, and their addresses. */
import { type ApiError, limitExceeded, refuse } from "../api/errors.ts";
import { type Cidr, cidr, contains, parseIp, renderIp } from "../state/cidr.ts";
import type { Project } from "../state/project.ts";
import type { LoadBalancerRecord, NetworkRecord, ServerRecord } from "../state/records.ts";
import { isReserved } from "./network-rules.ts";

/** The zone of a new member, and optionally an address or a subnet. */
export interface Placement {
  readonly zone: string;
  readonly ip: string | undefined;
  readonly ipRange: Cidr | undefined;
}

/** Servers attached to the network, in id order. */
export function serversIn(project: Project, network: number): readonly ServerRecord[] {
  return project.servers.rowsWith(`network/${network}`);
}

/** Load balancers attached to the network, in id order. */
export function balancersIn(project: Project, network: number): readonly LoadBalancerRecord[] {
  return project.loadBalancers.rowsWith(`network/${network}`);
}

/** Addresses of all members, including aliases. */
export function memberIps(project: Project, network: number): readonly string[] {
  const ofServers = serversIn(project, network)
    .flatMap((server) => server.private_net)
    .filter((attachment) => attachment.network === network)
    .flatMap(({ ip, alias_ips }) => [ip, ...alias_ips]);
  return [...ofServers, ...balancersIn(project, network).flatMap((lb) => lb.private_net.map(({ ip }) => ip))];
}

/** The address of a new member: the requested one, or else the first free one of the last suitable subnet. */
export function assignIp(project: Project, network: NetworkRecord, placement: Placement): string {
  const members = [project.servers, project.loadBalancers].map((table) => table.idsWith(`network/${network.id}`).size);
  if (members.reduce((a, b) => a + b, 0) >= project.behaviour.maxNetworkMembers) throw limitExceeded("network_members");
  const subnets = suitableSubnets(network, placement);
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

/** Subnets of the zone (and range, if given), in descending order. */
function suitableSubnets(network: NetworkRecord, { zone, ipRange }: Placement): readonly Cidr[] {
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

/** Throws if an address is outside all subnets, reserved, or in use. */
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

/** Detaches a server from a network, and removes the private targets that used the attachment. */
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

/** Detaches a load balancer from its network, and removes its private targets. */
export function detachBalancer(balancer: LoadBalancerRecord): LoadBalancerRecord {
  const targets = balancer.targets.filter((target) => target.type === "ip" || !target.use_private_ip);
  return { ...balancer, private_net: [], targets };
}
