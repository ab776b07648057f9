/** Checks servers from the API, so that a malformed one affects no other. */
import ipaddr from "ipaddr.js";
import type { Server } from "./api.ts";

type Loose<T> = T extends object ? { readonly [K in keyof T]?: Loose<T[K]> | null } : T | null;

/** Remembers the last well-formed version of each server. */
export class ServerShapes {
  #known: ReadonlyMap<number, Server> = new Map();

  /** A whole list, without servers that were never well-formed. */
  readAll(listed: readonly Server[]): readonly Server[] {
    const servers = listed.flatMap((server) => this.read(server) ?? []);
    this.#known = new Map(servers.map((server) => [server.id, server]));
    return servers;
  }

  /**
   * A malformed server is taken as it was last read: it exists, and removing its target or addresses would be wrong. An
   * IPv6 network that cannot be parsed is ignored. Undefined for one that was never well-formed.
   */
  read(server: Server): Server | undefined {
    const { id } = (server ?? {}) as Loose<Server>;
    if (!isWellFormed(server)) return typeof id === "number" ? this.#known.get(id) : undefined;
    const { ipv6 } = server.public_net;
    if (ipv6 === null || ipaddr.IPv6.isValidCIDR(ipv6.ip ?? "")) return server;
    return { ...server, public_net: { ...server.public_net, ipv6: null } };
  }
}

function isWellFormed(server: Loose<Server> | null): boolean {
  if (typeof server?.id !== "number" || ![server.name, server.status].every(isText)) return false;
  const { labels, location, server_type, public_net, private_net } = server;
  if (![labels, location, public_net].every(isObject) || !isText(location?.name) || !isText(server_type?.name))
    return false;
  const { ipv4, ipv6 } = public_net ?? {};
  if (![ipv4, ipv6].every((net) => net === null || isObject(net)) || (ipv4 && !isIPv4(ipv4.ip))) return false;
  if (!Array.isArray(private_net)) return false;
  const attachments: readonly Loose<Server["private_net"][number]>[] = private_net;
  return attachments.every(
    (attachment) =>
      typeof attachment?.network === "number" && isIPv4(attachment.ip) && Array.isArray(attachment.alias_ips ?? []),
  );
}

function isText(value: unknown): value is string {
  return typeof value === "string";
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}

function isIPv4(value: unknown): boolean {
  return isText(value) && ipaddr.IPv4.isValidFourPartDecimal(value);
}
