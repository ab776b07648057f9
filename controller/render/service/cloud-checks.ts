/** Checks settings against what Hetzner offers and against the cluster's network. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import ipaddr from "ipaddr.js";
import { isInRange } from "../../formats/ranges.ts";
import type { BalancerType, Catalogue, Network } from "../../hcloud/api.ts";
import type { Problem, Surroundings } from "./checks.ts";
import { tcpPorts } from "./listeners.ts";
import type { Settings } from "./options/settings.ts";
import { countForeign } from "./ours.ts";

/** The official controller's default type. */
export const DEFAULT_TYPE = "lb11";

/** Problems with the catalogue; none while it is unknown. */
export function catalogueProblems(service: V1Service, settings: Settings, around: Surroundings): readonly Problem[] {
  const { catalogue } = around;
  if (!catalogue) return [];
  const type = unknownProblems("type", settings, namesOf(catalogue.types));
  return [
    ...type,
    ...(around.existing ? [] : locationProblems(settings, catalogue)),
    ...listenerProblems(service, type.length > 0 ? undefined : settings.options.type, around),
  ];
}

function locationProblems(settings: Settings, { locations }: Catalogue): readonly Problem[] {
  return settings.options.location
    ? unknownProblems("location", settings, namesOf(locations))
    : unknownProblems("networkZone", settings, [...new Set(locations.map(({ network_zone: name }) => name))]);
}

const KINDS = { type: "type", location: "location", networkZone: "network zone" } as const;

function namesOf(all: readonly { readonly name: string }[]): readonly string[] {
  return all.map(({ name }) => name);
}

/** The problem of an option whose value is not known; none when it is not set. */
function unknownProblems(name: keyof typeof KINDS, { options, sources }: Settings, known: readonly string[]) {
  const value = options[name];
  if (!value || known.includes(value)) return [];
  const what = `${JSON.stringify(value)} is not a known ${KINDS[name]}`;
  return [{ message: `${sources[name]}: ${what}; known are ${known.join(", ")}`, options: [name] }];
}

/** Ports beyond the limit get no listener; existing listeners are kept. */
function listenerProblems(
  service: V1Service,
  wantedType: string | undefined,
  { catalogue, existing, foreign }: Surroundings,
): readonly Problem[] {
  const type = wantedType || (existing?.type ?? DEFAULT_TYPE);
  const limits = limitsOf(catalogue?.types ?? [], type);
  const ports = tcpPorts(service).map(({ port }) => port);
  const places = (limits?.listeners ?? ports.length) - countForeign(foreign).listeners;
  if (ports.length <= places) return [];
  const has = (port: number) => existing?.listeners.some(({ listenPort }) => listenPort === port) ?? false;
  const inOrder = ports.toSorted((a, b) => Number(has(b)) - Number(has(a)) || a - b);
  const message = `${ports.length} ports need one listener each, but type ${type} only has room for ${Math.max(places, 0)}: choose a larger type`;
  return inOrder.slice(Math.max(places, 0)).map((port) => ({ message, port, options: ["protocol"] }));
}

/** Maximum numbers for a load balancer type. */
export interface Limits {
  readonly listeners: number;
  readonly targets: number;
}

/** The limits of a type. Undefined when the type is not listed: then the API enforces them. */
export function limitsOf(types: readonly BalancerType[], name: string): Limits | undefined {
  const type = types.find((one) => one.name === name);
  return type && { listeners: type.max_services, targets: type.max_targets };
}

/**
 * Chooses as many candidates as there are places, deterministically: zones take turns, in the order of their
 * candidates. A new node never displaces an older one of its zone.
 */
export function spreadOverZones<T>(
  candidates: readonly { readonly node: V1Node; readonly target: T }[],
  places: number,
): { readonly chosen: readonly T[]; readonly leftOut: readonly string[] } {
  const zones = Map.groupBy(candidates, ({ node }) => node.metadata?.labels?.["topology.kubernetes.io/zone"] ?? "");
  const rows = [...zones.entries()]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .flatMap(([, members]) => members.map((member, turn) => ({ member, turn })));
  const inOrder = rows.toSorted((a, b) => a.turn - b.turn).map(({ member }) => member);
  return {
    chosen: inOrder.slice(0, places).map(({ target }) => target),
    leftOut: inOrder.slice(places).map(({ node }) => node.metadata?.name ?? ""),
  };
}

/** Problems with the network, subnet and private address. */
export function networkProblems(settings: Settings, around: Surroundings): readonly Problem[] {
  const { options, sources, broken } = settings;
  if (around.networkId === undefined) {
    // A subnet from the environment does not require a network; one from an annotation does.
    const isAsked = (name: keyof typeof options) => name !== "privateSubnet" || sources[name]?.startsWith("annotation");
    return (["usePrivateIp", "disablePublicNetwork", "privateIpv4", "privateSubnet"] as const)
      .filter((name) => options[name] && isAsked(name))
      .map((name) => ({
        message: `${sources[name]}: requires a network, but HCLOUD_NETWORK is not set`,
        options: [name],
      }));
  }
  const isUnreachable = options.disablePublicNetwork && !options.usePrivateIp && !broken.has("usePrivateIp");
  const message = `${sources.disablePublicNetwork}: without a public interface, nodes are reachable only over the network: set annotation load-balancer.hetzner.cloud/use-private-ip to true`;
  return [
    ...(isUnreachable ? [{ message, options: ["disablePublicNetwork"] as const }] : []),
    ...zoneProblems(settings, around),
    ...subnetProblems(settings, around.network),
    ...addressProblems(settings, around),
  ];
}

/** A new load balancer that cannot join the network would cost money, and reach no node over it. */
function zoneProblems({ options, sources }: Settings, { network, catalogue, existing }: Surroundings) {
  const { location, networkZone } = options;
  const place = catalogue?.locations.find(({ name, network_zone }) =>
    location ? name === location : network_zone === networkZone,
  );
  if (existing || !network || !place) return [];
  const zone = place.network_zone;
  if (network.subnets.some(({ network_zone }) => network_zone === zone)) return [];
  const option = location ? "location" : "networkZone";
  const message = `${sources[option]}: network ${network.name} has no subnet in network zone ${zone}: choose a location that the network covers`;
  return [{ message, options: [option] as const }];
}

function subnetProblems({ options, sources }: Settings, network: Network | undefined): readonly Problem[] {
  const { privateSubnet: wanted } = options;
  if (wanted === undefined || !network) return [];
  const ranges = rangesIn(network);
  if (ranges.includes(wanted)) return [];
  const message = `${sources.privateSubnet}: network ${network.name} has no subnet ${wanted} for load balancers; its subnets are ${ranges.join(", ") || "none"}`;
  return [{ message, options: ["privateSubnet"] }];
}

/** The subnets that load balancers can be in. */
function rangesIn({ subnets }: Network): readonly string[] {
  return subnets.filter(({ type }) => type !== "vswitch").map(({ ip_range }) => ip_range);
}

function addressProblems({ options, sources }: Settings, around: Surroundings): readonly Problem[] {
  const { network, existing, takenIps } = around;
  const { privateIpv4: ip, privateSubnet } = options;
  if (ip === undefined || !network || existing?.network?.ip === ip) return [];
  const refuse = (why: string): readonly Problem[] => [
    { message: `${sources.privateIpv4}: ${ip} ${why}`, options: ["privateIpv4"] },
  ];
  const ranges = rangesIn(network);
  if (!ranges.some((range) => isInRange(ip, range))) {
    return refuse(
      `is in no subnet of network ${network.name} for load balancers; its subnets are ${ranges.join(", ") || "none"}`,
    );
  }
  if (privateSubnet !== undefined && !isInRange(ip, privateSubnet)) {
    return refuse(`is not in ${privateSubnet}, which ${sources.privateSubnet} requires`);
  }
  if (takenIps?.has(ip)) return refuse("belongs to another server or load balancer");
  return isReserved(ip, network, ranges) ? refuse("is reserved in this network") : [];
}

/** Default gateway of every server's public interface. */
const PUBLIC_GATEWAY = "172.31.1.1";

/** Gateways, network and broadcast address. */
function isReserved(ip: string, { ip_range }: Network, subnets: readonly string[]): boolean {
  const gateway = ipaddr.IPv4.networkAddressFromCIDR(ip_range).toByteArray();
  gateway[3] = (gateway[3] ?? 0) + 1;
  const ends = subnets.flatMap((range) => [
    ipaddr.IPv4.networkAddressFromCIDR(range).toString(),
    ipaddr.IPv4.broadcastAddressFromCIDR(range).toString(),
  ]);
  return [gateway.join("."), PUBLIC_GATEWAY, ...ends].includes(ip);
}
