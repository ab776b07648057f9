/** Node addresses: the server's, in the official controller's order, filtered by kubelet's `--node-ip`. */
import type { V1NodeAddress } from "@kubernetes/client-node";
import ipaddr from "ipaddr.js";
import type { Server } from "../../hcloud/api.ts";

/** IP families of a node's external addresses. */
export type AddressFamily = "ipv4" | "ipv6" | "dualstack";

/** Which of a server's addresses a node gets. */
export interface AddressOptions {
  readonly addressFamily: AddressFamily;
  readonly networkId?: number;
  /** The IPv6 address from the node's own annotation. */
  readonly externalIpv6?: string | undefined;
}

/** A server's addresses: host name, public addresses by family, private addresses in the cluster's network (N8). */
export function serverAddresses(server: Server, options: AddressOptions): readonly V1NodeAddress[] {
  const { ipv4, ipv6 } = server.public_net;
  const { addressFamily: family, networkId } = options;
  const external = options.externalIpv6 ?? (ipv6 && firstAddress(ipv6.ip.split("/")[0] ?? ""));
  const addresses: V1NodeAddress[] = [{ type: "Hostname", address: server.name }];
  if (family !== "ipv6" && ipv4) addresses.push({ type: "ExternalIP", address: ipv4.ip });
  if (family !== "ipv4" && external) addresses.push({ type: "ExternalIP", address: external });
  for (const { network, ip } of server.private_net) {
    if (network === networkId) addresses.push({ type: "InternalIP", address: ip });
  }
  return addresses;
}

/** The first usable address of a /64, given without its prefix length. */
export function firstAddress(net: string): string {
  const bytes = ipaddr.IPv6.parse(net).toByteArray();
  bytes[15] = (bytes[15] ?? 0) | 1;
  return ipaddr.fromByteArray(bytes).toString();
}

/** The addresses to write, or why there are none. */
export type ShapedAddresses =
  | { readonly ok: true; readonly addresses: readonly V1NodeAddress[] }
  /** `missing` is the requested address that the server does not have. */
  | { readonly ok: false; readonly reason: string; readonly missing?: string };

/**
 * Applies `alpha.kubernetes.io/provided-node-ip` (kubelet's `--node-ip`): matching addresses come first, in the order
 * of the annotation, and replace others of their type (cloud-provider.md 1.5, A01 to A15). Without the annotation, the
 * list is unchanged.
 */
export function applyProvidedIps(addresses: readonly V1NodeAddress[], annotation: string | undefined): ShapedAddresses {
  if (annotation === undefined) return { ok: true, addresses };
  const wanted = parseProvidedIps(annotation);
  if (!wanted) {
    return {
      ok: false,
      reason: `annotation alpha.kubernetes.io/provided-node-ip: "${annotation}" is not one IP address, or one per family`,
    };
  }
  const matches = wanted.map((ip) => addresses.filter(({ address }) => isSameIp(address, ip)));
  const missing = wanted.find((_, index) => matches[index]?.length === 0);
  if (missing) {
    const known = addresses.map(({ address }) => address).join(", ") || "none";
    const reason = `kubelet's --node-ip ${missing} is not an address of the server (it has ${known})`;
    return { ok: false, reason, missing };
  }
  const first = matches.flat();
  const types = new Set(first.map(({ type }) => type));
  return { ok: true, addresses: [...first, ...addresses.filter(({ type }) => !types.has(type))] };
}

function parseProvidedIps(annotation: string): readonly string[] | undefined {
  const parts = annotation.split(",");
  if (parts.length > 2 || !parts.every(isIp)) return undefined;
  if (parts.length === 1) return parts;
  const kinds = new Set(parts.map((part) => ipaddr.process(part).kind()));
  const isUnspecified = (part: string) => ipaddr.process(part).range() === "unspecified";
  return kinds.size === 2 && !parts.some(isUnspecified) ? parts : undefined;
}

/** Like kubelet, rejects short, octal and hexadecimal forms, zones and spaces. */
export function isIp(text: string): boolean {
  return ipaddr.IPv4.isValidFourPartDecimal(text) || (ipaddr.IPv6.isValid(text) && /^[0-9a-f:.]+$/i.test(text));
}

function isSameIp(address: string, ip: string): boolean {
  if (!isIp(address)) return false;
  return ipaddr.process(address).toNormalizedString() === ipaddr.process(ip).toNormalizedString();
}

/** Whether both lists have the same entries in the same order. */
export function sameAddresses(a: readonly V1NodeAddress[], b: readonly V1NodeAddress[]): boolean {
  return a.length === b.length && a.every(({ type, address }, i) => b[i]?.type === type && b[i]?.address === address);
}
