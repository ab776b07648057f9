/** Objects of the Robot API, which manages dedicated servers, with the fields that Lotse reads, and their parser. */

/** A dedicated server. */
export interface RobotServer {
  readonly server_number: number;
  readonly server_name: string;
  /** Null for a server without IPv4. */
  readonly server_ip: string | null;
  /** First address of the IPv6 network, without prefix length. Null or empty without IPv6. */
  readonly server_ipv6_net: string | null;
  readonly product: string;
  /** Data centre, e.g. `FSN1-DC14`. */
  readonly dc: string;
}

/** The known dedicated servers, or why they are not known. */
export type RobotInventory =
  | { readonly kind: "off" }
  | { readonly kind: "unreadable"; readonly reason: string }
  | { readonly kind: "listed"; readonly servers: readonly RobotServer[] };

/** Whether a dedicated server exists and runs. */
export type RobotState = "running" | "off" | "missing";

/** The servers of a list, without malformed entries. Undefined when it is no list of servers at all. */
export function parseServers(body: object): readonly RobotServer[] | undefined {
  if (!Array.isArray(body)) return undefined;
  const servers = body.map((entry: { readonly server?: unknown } | null) => entry?.server).filter(isServer);
  return servers.length > 0 || body.length === 0 ? servers : undefined;
}

function isServer(value: unknown): value is RobotServer {
  if (typeof value !== "object" || value === null) return false;
  const { server_number, server_name, server_ip, server_ipv6_net, product, dc } = value as Record<string, unknown>;
  const texts = [server_name, server_ip ?? "", server_ipv6_net ?? "", product, dc];
  return Number.isSafeInteger(server_number) && texts.every((text) => typeof text === "string");
}
