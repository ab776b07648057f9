/** The IPv6 address that a node declares: the cloud knows a server's IPv6 network, but not which address it uses. */
import type { V1Node } from "@kubernetes/client-node";
import ipaddr from "ipaddr.js";
import { type AddressFamily, isIp } from "./addresses.ts";
import type { NodeVerdict, NodeWarning } from "./metadata.ts";

/** Annotation of the official controller since v1.37; must not change. */
export const EXTERNAL_IPV6 = "instance.hetzner.cloud/external-ipv6";

/** The address to use instead of the first one of the server's network, or the refusal of an invalid annotation. */
export type ExternalIpv6 =
  | { readonly ok: true; readonly address?: string; readonly warnings: readonly NodeWarning[] }
  | { readonly ok: false; readonly refusal: NodeVerdict };

/**
 * | annotation | nodes have IPv6 | result |
 * | --- | --- | --- |
 * | absent | – | the first address of the server's network |
 * | any | no | ignored, with a warning |
 * | a global unicast IPv6 address | yes | used, in its short form |
 * | anything else, including empty | yes | refused: a guess could be another machine's address |
 */
export function readExternalIpv6({ metadata }: V1Node, family: AddressFamily): ExternalIpv6 {
  const text = metadata?.annotations?.[EXTERNAL_IPV6];
  if (text === undefined) return { ok: true, warnings: [] };
  if (family === "ipv4") {
    const message = `annotation ${EXTERNAL_IPV6} is ignored because nodes have no IPv6 addresses: set HCLOUD_INSTANCES_ADDRESS_FAMILY to ipv6 or dualstack`;
    return { ok: true, warnings: [{ reason: "IgnoredExternalIPv6", message }] };
  }
  if (isGlobalUnicast(text)) return { ok: true, address: ipaddr.IPv6.parse(text).toString(), warnings: [] };
  const reason = `annotation ${EXTERNAL_IPV6}: "${text}" is not a global unicast IPv6 address`;
  return { ok: false, refusal: { kind: "refused", reason, isFinal: true, event: "InvalidExternalIPv6" } };
}

/** As in Go: neither link-local, loopback, multicast nor unspecified. Unique local addresses count as global. */
function isGlobalUnicast(text: string): boolean {
  if (!isIp(text) || !ipaddr.IPv6.isValid(text)) return false;
  return !["unspecified", "loopback", "multicast", "linkLocal", "ipv4Mapped"].includes(ipaddr.IPv6.parse(text).range());
}
