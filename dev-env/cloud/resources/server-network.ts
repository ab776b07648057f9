/** Attaches servers to networks. */
import { found, invalidField, limitExceeded, refuse } from "../api/errors.ts";
import { cidrRange, id, ipv4 } from "../api/fields.ts";
import { array, type Checked, object, optional } from "../api/schema.ts";
import { cidr, overlaps } from "../state/cidr.ts";
import type { Project } from "../state/project.ts";
import type { NetworkRecord, ServerNetwork, ServerRecord } from "../state/records.ts";
import { locationNamed } from "./catalogue.ts";
import { assignIp, checkFree } from "./network-members.ts";

const MAX_NETWORKS = 3;
const MAX_ALIAS_IPS = 5;

/** Body of `attach_to_network`. Without an address, the first free one is assigned. */
export const attachServerBody = object({
  network: id,
  ip: optional(ipv4),
  alias_ips: optional(array(ipv4)),
  ip_range: optional(cidrRange),
});

/** Body of `change_alias_ips`, with the complete list. */
export const aliasIpsBody = object({ network: id, alias_ips: array(ipv4) });

/** Attaches a server to a network in its zone. */
export function attachServer(
  project: Project,
  server: ServerRecord,
  body: Checked<typeof attachServerBody>,
): ServerRecord {
  const network = found(project.networks.get(body.network), "network", body.network);
  checkAttachable(project, server, network);
  const placement = { zone: locationNamed(server.location).network_zone, ip: body.ip, ipRange: body.ip_range };
  const attachment: ServerNetwork = {
    network: network.id,
    ip: assignIp(project, network, placement),
    alias_ips: [],
    mac_address: macAddress(server.id, server.private_net.length),
  };
  const attached = project.servers.put({ ...server, private_net: [...server.private_net, attachment] });
  return changeAliasIps(project, attached, { network: network.id, alias_ips: body.alias_ips ?? [] });
}

function checkAttachable(project: Project, server: ServerRecord, network: NetworkRecord): void {
  const attached = server.private_net.map((attachment) => attachment.network);
  if (attached.includes(network.id)) {
    throw refuse("server_already_attached", "server is already attached to this network");
  }
  if (attached.length >= MAX_NETWORKS) throw limitExceeded("server_networks");
  for (const id of attached) {
    const other = project.networks.get(id);
    if (other && overlaps(cidr(other.ip_range), cidr(network.ip_range))) {
      throw refuse("networks_overlap", "the network's range overlaps with another attached network");
    }
  }
}

/** Replaces all alias addresses of one attachment. */
export function changeAliasIps(
  project: Project,
  server: ServerRecord,
  { network: networkId, alias_ips }: Checked<typeof aliasIpsBody>,
): ServerRecord {
  const network = project.networks.get(networkId);
  const attachment = server.private_net.find((candidate) => candidate.network === networkId);
  if (!network || !attachment) throw notAttached(networkId);
  if (alias_ips.length > MAX_ALIAS_IPS) throw limitExceeded("server_alias_ips");
  if (new Set(alias_ips).size < alias_ips.length) throw invalidField("alias_ips", "Must be unique.");
  for (const ip of alias_ips) {
    if (!attachment.alias_ips.includes(ip)) checkFree(project, network, ip);
  }
  const private_net = server.private_net.map((candidate) =>
    candidate === attachment ? { ...candidate, alias_ips } : candidate,
  );
  return project.servers.put({ ...server, private_net });
}

/** 404 for a network to which the resource is not attached. */
export function notAttached(network: number): Error {
  return refuse("not_found", `network with ID '${network}' is not attached`);
}

function macAddress(server: number, index: number): string {
  const bytes = [server >>> 16, server >>> 8, server].map((byte) => (byte & 255).toString(16).padStart(2, "0"));
  return `86:00:${index.toString(16).padStart(2, "0")}:${bytes.join(":")}`;
}
