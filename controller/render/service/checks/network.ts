/** Checks options against the cluster's network, because a failed attempt to reattach would interrupt traffic. */
import ipaddr from "ipaddr.js";
import { isInRange } from "../../../formats/ranges.ts";
import type { Network } from "../../../hcloud/api.ts";
import type { Settings } from "../options/settings.ts";
import type { Problem, Surroundings } from "./checks.ts";

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
  const isPublic = !options.usePrivateIp && !broken.has("usePrivateIp");
  return [
    ...(options.disablePublicNetwork && isPublic
      ? [
          {
            message: `${sources.disablePublicNetwork}: without a public interface, nodes are reachable only over the network: set annotation load-balancer.hetzner.cloud/use-private-ip to true`,
            options: ["disablePublicNetwork"] as const,
          },
        ]
      : []),
    ...subnetProblems(settings, around.network),
    ...addressProblems(settings, around),
  ];
}

function subnetProblems({ options, sources }: Settings, network: Network | undefined): readonly Problem[] {
  const { privateSubnet: wanted } = options;
  if (wanted === undefined || !network || network.subnets.some(({ ip_range }) => ip_range === wanted)) return [];
  const there = network.subnets.map(({ ip_range }) => ip_range).join(", ");
  const message = `${sources.privateSubnet}: network ${network.name} has no subnet ${wanted}; its subnets are ${there || "none"}`;
  return [{ message, options: ["privateSubnet"] }];
}

function addressProblems({ options, sources }: Settings, around: Surroundings): readonly Problem[] {
  const { network, existing, takenIps } = around;
  const { privateIpv4: ip, privateSubnet } = options;
  if (ip === undefined || !network || existing?.network?.ip === ip) return [];
  const refuse = (why: string): readonly Problem[] => [
    { message: `${sources.privateIpv4}: ${ip} ${why}`, options: ["privateIpv4"] },
  ];
  const ranges = network.subnets.map(({ ip_range }) => ip_range);
  if (!ranges.some((range) => isInRange(ip, range))) {
    return refuse(`is in no subnet of network ${network.name}; its subnets are ${ranges.join(", ") || "none"}`);
  }
  if (privateSubnet !== undefined && !isInRange(ip, privateSubnet)) {
    return refuse(`is not in ${privateSubnet}, which ${sources.privateSubnet} requires`);
  }
  if (takenIps?.has(ip)) return refuse("belongs to another server or load balancer");
  return isReserved(ip, network, ranges) ? refuse("is reserved in this network") : [];
}

/** Gateway, network and broadcast address. */
function isReserved(ip: string, { ip_range }: Network, subnets: readonly string[]): boolean {
  const gateway = ipaddr.IPv4.networkAddressFromCIDR(ip_range).toByteArray();
  gateway[3] = (gateway[3] ?? 0) + 1;
  const ends = subnets.flatMap((range) => [
    ipaddr.IPv4.networkAddressFromCIDR(range).toString(),
    ipaddr.IPv4.broadcastAddressFromCIDR(range).toString(),
  ]);
  return [gateway.join("."), ...ends].includes(ip);
}
