/** The load balancer's addresses in the status of a Service. */
import type { V1LoadBalancerIngress } from "@kubernetes/client-node";
import type { LoadBalancerState } from "../../../stacks/units/spec.ts";
import type { Settings } from "./options/settings.ts";

/**
 * Ingress entries in the official order: public IPv4, public IPv6, private; a host name replaces all of them (S19,
 * S20). Undefined when a mistake leaves it open what the status should be.
 *
 * An entry applies to all ports. If any of them uses the PROXY protocol, traffic from inside the cluster must also go
 * through the load balancer, which adds the header.
 */
export function renderIngress(balancer: LoadBalancerState, { options, broken }: Pick<Settings, "options" | "broken">) {
  if (STATUS_OPTIONS.some((name) => broken.has(name))) return undefined;
  if (options.hostname) return [{ hostname: options.hostname }];
  const ipMode = balancer.listeners.some(({ proxyProtocol }) => proxyProtocol) ? "Proxy" : "VIP";
  const ips = [
    balancer.publicInterface ? balancer.ipv4 : undefined,
    balancer.publicInterface && !options.ipv6Disabled ? balancer.ipv6 : undefined,
    options.disablePrivateIngress ? undefined : balancer.network?.ip,
  ];
  return ips.filter((ip) => ip !== undefined).map((ip) => ({ ip, ipMode }));
}

const STATUS_OPTIONS = ["hostname", "disablePrivateIngress", "ipv6Disabled"] as const;

/** Whether both lists are equal. The API server defaults `ipMode` to `VIP`, so an absent one equals that. */
export function sameIngress(a: readonly V1LoadBalancerIngress[], b: readonly V1LoadBalancerIngress[]): boolean {
  const normal = ({ ip, hostname, ipMode, ports = [] }: V1LoadBalancerIngress) =>
    `${ip ?? ""}|${hostname ?? ""}|${ip ? (ipMode ?? "VIP") : ""}|${JSON.stringify(ports)}`;
  return a.length === b.length && a.every((entry, index) => normal(entry) === normal(b[index] ?? {}));
}
