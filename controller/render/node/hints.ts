/** Hints for nodes that cannot be initialised: the server that was probably meant, and the remedy. */
import type { V1Node } from "@kubernetes/client-node";
import ipaddr from "ipaddr.js";
import type { Server } from "../../hcloud/api.ts";
import { type AddressOptions, serverAddresses } from "./addresses.ts";
import { EXTERNAL_IPV6 } from "./external-ipv6.ts";

/** Why a node has no server, with the server that was probably meant. */
export function explainMissing(node: V1Node, servers: readonly Server[]): string {
  const { name = "" } = node.metadata ?? {};
  if (node.spec?.providerID) {
    const missing = `no server with providerID ${node.spec.providerID} exists in this project`;
    const namesake = servers.find((server) => server.name === name);
    return namesake
      ? `${missing}, but server ${namesake.id} has the same name: if the server was replaced, delete the Node so that kubelet registers it again`
      : `${missing}: delete the Node if the server is gone; otherwise check that HCLOUD_TOKEN belongs to this cluster's project`;
  }
  const missing = `no server named "${name}" exists in this project`;
  for (const [because, isMeant] of resemblancesTo(node)) {
    const found = servers.find(isMeant);
    if (!found) continue;
    return `${missing}, but server "${found.name}" ${because}: rename the server or the Node, or start kubelet with --provider-id=hcloud://${found.id}`;
  }
  return `${missing}: name the Node like its server, or start kubelet with --provider-id=hcloud://<id>`;
}

function resemblancesTo({
  metadata,
  status,
}: V1Node): readonly [because: string, isMeant: (server: Server) => boolean][] {
  const { name = "" } = metadata ?? {};
  const addresses = new Set((status?.addresses ?? []).map(({ address }) => address));
  const isPart = (whole: string, part: string) =>
    part.length > 2 && whole.startsWith(part) && /\W/.test(whole[part.length] ?? "");
  return [
    ["differs only in upper and lower case", (server) => server.name.toLowerCase() === name.toLowerCase()],
    ["has the Node's address", (server) => ipsOf(server).some((ip) => addresses.has(ip))],
    ["has a similar name", (server) => isPart(server.name, name) || isPart(name, server.name)],
  ];
}

function ipsOf({ public_net, private_net }: Server): readonly string[] {
  return [...(public_net.ipv4 ? [public_net.ipv4.ip] : []), ...private_net.map(({ ip }) => ip)];
}

/** How to make kubelet's `--node-ip` match one of the server's addresses. */
export function adviseOnAddress(
  server: Server,
  { addressFamily, networkId }: AddressOptions,
  missing: string | undefined,
): string {
  const networks = server.private_net.map(({ network }) => network);
  const both = serverAddresses(server, { addressFamily: "dualstack" });
  if (addressFamily !== "dualstack" && both.some(({ address }) => address === missing)) {
    return "set HCLOUD_INSTANCES_ADDRESS_FAMILY=dualstack to use both families";
  }
  if (missing !== undefined && addressFamily !== "ipv4" && isOfServer(missing, server)) {
    return `annotate the Node with ${EXTERNAL_IPV6}=${missing} if the server uses this address of its IPv6 network`;
  }
  if (networkId === undefined) {
    return networks.length > 0
      ? `set HCLOUD_NETWORK to the cluster's network (the server is attached to ${networks.join(", ")})`
      : "set HCLOUD_NETWORK if it is a private address";
  }
  return networks.includes(networkId)
    ? "change --node-ip to one of these addresses"
    : `server ${server.name} is not attached to network ${networkId}: attach it, or change --node-ip`;
}

/** Whether the address is in the server's IPv6 network. */
function isOfServer(address: string, { public_net }: Server): boolean {
  if (!public_net.ipv6 || !ipaddr.IPv6.isValid(address)) return false;
  return ipaddr.IPv6.parse(address).match(ipaddr.IPv6.parseCIDR(public_net.ipv6.ip));
}
