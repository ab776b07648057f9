/** The metadata service of servers. */
import type { IncomingMessage } from "node:http";
import { refuse } from "../api/errors.ts";
import { pick } from "../api/fields.ts";
import type { Answer } from "../api/route.ts";
import { locationNamed } from "../resources/catalogue.ts";
import { viewServer } from "../resources/server-view.ts";
import type { Project } from "../state/project.ts";
import type { ServerRecord } from "../state/records.ts";
import type { SideEndpoint } from "./endpoint.ts";

const PREFIX = "/_metadata/";
const PATH = /^\/_metadata\/([^/]+)\/hetzner\/v1\/(metadata|userdata)(?:\/([a-z0-9-]+))?$/;

/**
 * The metadata service. In the real cloud a server queries 169.254.169.254 and is identified by its address; here the
 * path contains the server: `/_metadata/<id or name>/hetzner/v1/metadata/…`.
 */
export function metadataEndpoint(project: Project): SideEndpoint {
  const handle = async (_request: IncomingMessage, url: URL): Promise<Answer> => {
    const [, who = "", part = "", key] = PATH.exec(url.pathname) ?? [];
    const server = pick(project.servers.values(), who);
    if (!server)
      throw refuse("not_found", `server ${who} not found; the path is ${PREFIX}<id or name>/hetzner/v1/metadata`);
    const text = part === "userdata" ? server.user_data : metadata(project, server, key);
    if (text === undefined) throw refuse("not_found", `no metadata ${key}`);
    return { status: 200, text };
  };
  return { prefix: PREFIX, handle };
}

function metadata(project: Project, server: ServerRecord, key: string | undefined): string | undefined {
  const entries = entriesOf(project, server);
  if (key !== undefined) return entries.find(([name]) => name === key)?.[1];
  return entries.map(([name, value]) => yamlEntry(name, value)).join("");
}

function yamlEntry(name: string, value: string): string {
  const isBlock = value.includes("\n") || value.startsWith("- ");
  return isBlock ? `${name}:\n${value.replace(/\n?$/, "\n")}` : `${name}: ${value}\n`;
}

function entriesOf(project: Project, server: ServerRecord): readonly (readonly [name: string, value: string])[] {
  const { public_net, private_net } = viewServer(project, server);
  return [
    ["availability-zone", `${server.location}-dc1`],
    ["hostname", server.name],
    ["instance-id", String(server.id)],
    ["local-ipv4", private_net[0]?.ip ?? ""],
    ["private-networks", private_net.map((net) => privateNetwork(project, net)).join("\n")],
    ["public-ipv4", public_net.ipv4?.ip ?? ""],
    ["public-keys", "[]"],
    ["region", locationNamed(server.location).network_zone],
    ["vendor_data", '""'],
  ];
}

function privateNetwork(project: Project, net: ServerRecord["private_net"][number]): string {
  const network = project.networks.get(net.network);
  const aliases = net.alias_ips.map((ip) => `"${ip}"`).join(", ");
  return [
    `- ip: ${net.ip}`,
    `  alias_ips: [${aliases}]`,
    `  mac_address: ${net.mac_address}`,
    `  network_id: ${net.network}`,
    `  network_name: ${network?.name ?? ""}`,
    `  network: ${network?.ip_range ?? ""}`,
    `  gateway: ${network?.subnets[0]?.gateway ?? ""}`,
  ].join("\n");
}
