/** Converts specs and states into the arguments of their components. */
import type { CertificateArgs } from "../components/certificate.ts";
import type { LoadBalancerArgs, NetworkAttachmentArgs } from "../components/load-balancer.ts";
import { defined } from "./defined.ts";
import { PRIVATE_KEY } from "./inputs.ts";
import { targetPart } from "./names.ts";
import type { CertificateSpec, IpVersion, LoadBalancerSpec, NetworkAttachment, ReverseDns } from "./spec.ts";

/** The arguments of a load balancer. */
export function loadBalancerArgs({ place, network, rdns, targets, ...spec }: LoadBalancerSpec): LoadBalancerArgs {
  const { name, type, algorithm, labels, deleteProtection, listeners } = spec;
  return {
    ...{ name, type, algorithm, labels, deleteProtection, listeners, ...place },
    ...(network && { network: attachmentArgs(network) }),
    ...(rdns && { reverseDns: namedAddresses(rdns) }),
    targets: Object.fromEntries(targets.map((target) => [targetPart(target), target])),
  };
}

/** The arguments of a network attachment: the provider accepts a network or a subnet, not both. */
export function attachmentArgs({ networkId, subnet, ip, publicInterface }: NetworkAttachment): NetworkAttachmentArgs {
  return {
    ...(subnet === undefined ? { networkId } : { subnetId: `${networkId}-${subnet}` }),
    ...defined({ ip, publicInterface }),
  };
}

/** Null restores the default by having no resource, and an empty name is no name. */
export function namedAddresses({ ipv4, ipv6 }: ReverseDns): { readonly [V in IpVersion]?: string } {
  return { ...(ipv4 && { ipv4 }), ...(ipv6 && { ipv6 }) };
}

/** The arguments of a certificate. Its private key is a placeholder, which the gateway replaces. */
export function certificateArgs({ name, labels, content }: CertificateSpec): CertificateArgs {
  return content.type === "managed"
    ? { name, labels, domains: content.domains }
    : { name, labels, certificate: content.pem, privateKey: PRIVATE_KEY };
}
