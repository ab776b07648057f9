/** Rules for subnets and routes. Pure: each takes a network and returns the changed one, or throws. */
import { invalidField, limitExceeded, refuse } from "../api/errors.ts";
import { cidrRange, id, ipv4 } from "../api/fields.ts";
import { type Checked, object, oneOf, optional, string } from "../api/schema.ts";
import { type Cidr, cidr, contains, isPrivate, overlaps, parseIp, renderCidr, renderIp } from "../state/cidr.ts";
import type { NetworkRecord, NetworkRoute, Subnet } from "../state/records.ts";
import { catalogue } from "./catalogue.ts";

const MAX_SUBNETS = 50;
const MAX_ROUTES = 100;
/** The gateway of the public interface of every server, reserved in every network. */
const PUBLIC_GATEWAY = parseIp("172.31.1.1") ?? 0;
const DEFAULT_ROUTE = cidr("0.0.0.0/0");

/** A subnet in a request. Without a range, the first free /24 is assigned. */
export const subnetBody = object({
  type: oneOf("cloud", "server", "vswitch"),
  network_zone: string(),
  ip_range: optional(cidrRange),
  vswitch_id: optional(id),
});

/** A route in a request. */
export const routeBody = object({ destination: cidrRange, gateway: ipv4 });

type SubnetRequest = Checked<typeof subnetBody>;
type RouteRequest = Checked<typeof routeBody>;

/** Throws unless the range is private and at least a /24. */
export function checkNetworkRange(range: Cidr): void {
  if (!isPrivate(range) || range.prefix > 24) {
    throw invalidField("ip_range", "Must be a private range (RFC 1918) of at least /24.");
  }
}

/** The first address of the network: the gateway of cloud subnets, and never assigned. */
function networkGateway(network: Pick<NetworkRecord, "ip_range">): number {
  return cidr(network.ip_range).first + 1;
}

/** Adds a subnet. It must be inside the network, must not overlap others, and must be in the same zone. */
export function addSubnet(network: NetworkRecord, request: SubnetRequest): NetworkRecord {
  if (network.subnets.length >= MAX_SUBNETS) throw limitExceeded("network_subnets");
  checkZone(network, request);
  const range = request.ip_range ?? freeRange(network);
  checkSubnetRange(network, range);
  const isVswitch = request.type === "vswitch";
  if (isVswitch !== (request.vswitch_id !== undefined)) {
    throw invalidField("vswitch_id", "Must be given for subnets of type vswitch, and only for them.");
  }
  const subnet: Subnet = {
    type: request.type,
    ip_range: renderCidr(range),
    network_zone: request.network_zone,
    gateway: renderIp(isVswitch ? range.first + 1 : networkGateway(network)),
    vswitch_id: request.vswitch_id ?? null,
  };
  return { ...network, subnets: [...network.subnets, subnet] };
}

function checkZone(network: NetworkRecord, { network_zone, type }: SubnetRequest): void {
  if (!catalogue.locations.some((location) => location.network_zone === network_zone)) {
    throw invalidField("network_zone", "Unknown network zone.");
  }
  if (network.subnets.some((subnet) => subnet.network_zone !== network_zone)) {
    throw invalidField("network_zone", "All subnets of a network must be in the same network zone.");
  }
  if (type === "vswitch" && network_zone !== "eu-central") {
    throw invalidField("network_zone", "Subnets of type vswitch exist in eu-central only.");
  }
}

function checkSubnetRange(network: NetworkRecord, range: Cidr): void {
  if (!contains(cidr(network.ip_range), range)) throw invalidField("ip_range", "Must be inside the network's range.");
  if (range.prefix > 30) throw invalidField("ip_range", "Must be at least a /30.");
  if (!isFree(network, range)) throw invalidField("ip_range", "Overlaps with another subnetwork or network route.");
}

function isFree(network: NetworkRecord, range: Cidr): boolean {
  const taken = [
    ...network.subnets.map((subnet) => cidr(subnet.ip_range)),
    ...network.routes.map((route) => cidr(route.destination)).filter((destination) => destination.prefix > 0),
  ];
  return !taken.some((other) => overlaps(other, range));
}

function freeRange(network: NetworkRecord): Cidr {
  const whole = cidr(network.ip_range);
  for (let first = whole.first; first <= whole.last; first += 256) {
    const candidate = { first, last: first + 255, prefix: 24 };
    if (isFree(network, candidate)) return candidate;
  }
  throw invalidField("ip_range", "No free /24 is left in the network.");
}

/** Removes an unused subnet. The provider matches the text of the error. */
export function deleteSubnet(network: NetworkRecord, range: Cidr, memberIps: readonly string[]): NetworkRecord {
  const text = renderCidr(range);
  if (!network.subnets.some((subnet) => subnet.ip_range === text)) {
    throw refuse("not_found", `subnet with IP range '${text}' not found`);
  }
  if (memberIps.some((ip) => contains(range, parseIp(ip) ?? -1))) {
    throw refuse("service_error", "cannot remove subnet because servers are attached to it");
  }
  return { ...network, subnets: network.subnets.filter((subnet) => subnet.ip_range !== text) };
}

/** Adds a route. The gateway must be inside the network, the destination need not. */
export function addRoute(network: NetworkRecord, { destination, gateway }: RouteRequest): NetworkRecord {
  if (network.routes.length >= MAX_ROUTES) throw limitExceeded("network_routes");
  checkDestination(network, destination);
  checkGateway(network, parseIp(gateway) ?? 0);
  const route: NetworkRoute = { destination: renderCidr(destination), gateway };
  return { ...network, routes: [...network.routes, route] };
}

function checkDestination(network: NetworkRecord, destination: Cidr): void {
  const isDefault = destination.prefix === 0;
  if (!isDefault && !isPrivate(destination)) {
    throw invalidField("destination", "Must be a private range (RFC 1918) or 0.0.0.0/0.");
  }
  const isTaken = isDefault
    ? network.routes.some((route) => route.destination === renderCidr(DEFAULT_ROUTE))
    : !isFree(network, destination) || contains(destination, PUBLIC_GATEWAY);
  if (isTaken) {
    const text = "network route destination overlaps with another subnetwork or network route";
    throw invalidField("destination", text, text);
  }
}

function checkGateway(network: NetworkRecord, gateway: number): void {
  const range = cidr(network.ip_range);
  const behindVswitch = network.subnets.some(
    (subnet) => subnet.type === "vswitch" && contains(cidr(subnet.ip_range), gateway),
  );
  const isUsable =
    contains(range, gateway) &&
    gateway !== range.first &&
    gateway !== range.last &&
    gateway !== networkGateway(network) &&
    gateway !== PUBLIC_GATEWAY &&
    !behindVswitch;
  if (!isUsable) throw invalidField("gateway", "invalid gateway", "invalid gateway");
}

/** Removes the route with this destination and gateway. */
export function deleteRoute(network: NetworkRecord, { destination, gateway }: RouteRequest): NetworkRecord {
  const text = renderCidr(destination);
  const routes = network.routes.filter((route) => route.destination !== text || route.gateway !== gateway);
  if (routes.length === network.routes.length) {
    throw refuse("not_found", `route with destination '${text}' and gateway '${gateway}' not found`);
  }
  return { ...network, routes };
}

/** Enlarges a network: same start, shorter prefix. */
export function changeIpRange(network: NetworkRecord, range: Cidr): NetworkRecord {
  const before = cidr(network.ip_range);
  checkNetworkRange(range);
  if (range.first !== before.first || range.prefix > before.prefix) {
    throw invalidField("ip_range", "Must start at the same address and must not be smaller.");
  }
  return { ...network, ip_range: renderCidr(range) };
}

/** Whether an address cannot be assigned. */
export function isReserved(network: NetworkRecord, subnet: Cidr, ip: number): boolean {
  return ip === networkGateway(network) || ip === PUBLIC_GATEWAY || ip === subnet.first || ip === subnet.last;
}
