/** Why a node cannot be initialised, and what would help: near matches that a person would look for. */
import type { V1Node } from "@kubernetes/client-node";
import ipaddr from "ipaddr.js";
import type { Server } from "../../hcloud/api.ts";
import { type AddressOptions, serverAddresses } from "./addresses.ts";
import { EXTERNAL_IPV6 } from "./external-ipv6.ts";

/** Why no server was found for a node, with the one that was probably meant. */
export function explainMissing(node: V1Node, servers: readonly Server[]): string {
  const { name = "" } = node.metadata ?? {};
  if (node.spec?.providerID) {
    const missing = `no server with providerID ${node.spec.providerID} exists in this project`;
    const namesake = servers.find((server) => server.name === name);
    return namesake
      ? `${missing}, but server ${namesake.id} has its name: delete the node if it was replaced, and kubelet registers it anew`
      : `${missing}: delete the node if the server is gone, or check HCLOUD_TOKEN's project`;
  }
  const missing = `no server named "${name}" exists in this project`;
  for (const { found, because } of nearMatches(node, servers)) {
    if (found) {
      return `${missing}, but server "${found.name}" ${because}: rename the server or the node, or start kubelet with --provider-id=hcloud://${found.id}`;
    }
  }
  return `${missing}: node and server must have the same name, or the node a providerID`;
}

function nearMatches(node: V1Node, servers: readonly Server[]) {
  const { name = "" } = node.metadata ?? {};
  const addresses = new Set((node.status?.addresses ?? []).map(({ address }) => address));
  const lower = name.toLowerCase();
  const isPart = (whole: string, part: string) =>
    part.length > 2 && whole.startsWith(part) && /\W/.test(whole[part.length] ?? "");
  return [
    {
      found: servers.find((server) => server.name.toLowerCase() === lower),
      because: "differs from it in upper and lower case only",
    },
    {
      found: servers.find((server) => ipsOf(server).some((ip) => addresses.has(ip))),
      because: "has the node's address",
    },
    {
      found: servers.find((server) => isPart(server.name, name) || isPart(name, server.name)),
      because: "has the same beginning",
    },
  ];
}

function ipsOf({ public_net, private_net }: Server): readonly string[] {
  return [...(public_net.ipv4 ? [public_net.ipv4.ip] : []), ...private_net.map(({ ip }) => ip)];
}

/** What would make kubelet's `--node-ip` one of the server's addresses. */
export function adviseOnAddress(
  server: Server,
  { addressFamily, networkId }: AddressOptions,
  missing: string | undefined,
): string {
  const networks = server.private_net.map(({ network }) => network);
  const both = serverAddresses(server, { addressFamily: "dualstack" });
  if (addressFamily !== "dualstack" && both.some(({ address }) => address === missing)) {
    return "set HCLOUD_INSTANCES_ADDRESS_FAMILY=dualstack to have both families";
  }
  if (missing !== undefined && addressFamily !== "ipv4" && isOfServer(missing, server)) {
    return `annotate the node with ${EXTERNAL_IPV6}=${missing} if the server uses this address of its network`;
  }
  if (networkId === undefined) {
    return networks.length > 0
      ? `set HCLOUD_NETWORK to the cluster's network (the server is attached to ${networks.join(", ")})`
      : "set HCLOUD_NETWORK if it is a private address";
  }
  return networks.includes(networkId)
    ? "change --node-ip to one of them"
    : `server ${server.name} is not attached to network ${networkId}: attach it, or change --node-ip`;
}

/** True for any address of the server's IPv6 network. */
function isOfServer(address: string, { public_net }: Server): boolean {
  if (!public_net.ipv6 || !ipaddr.IPv6.isValid(address)) return false;
  return ipaddr.IPv6.parse(address).match(ipaddr.IPv6.parseCIDR(public_net.ipv6.ip));
}
