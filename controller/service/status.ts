/** What the status of a Service says about its balancer. */
import type { V1LoadBalancerIngress } from "@kubernetes/client-node";
import type { LoadBalancerState } from "../../stacks/spec.ts";
import type { ServiceOptions } from "./annotations.ts";

/** Ingress entries in the official order: public IPv4, public IPv6, private; a host name stands for all of them (S19, S20). */
export function renderIngress(balancer: LoadBalancerState, options: ServiceOptions): readonly V1LoadBalancerIngress[] {
  if (options.hostname) return [{ hostname: options.hostname }];
  const ipMode = options.proxyProtocol ? "Proxy" : "VIP";
  const ips = [
    balancer.publicInterface ? balancer.ipv4 : undefined,
    balancer.publicInterface && !options.ipv6Disabled ? balancer.ipv6 : undefined,
    options.disablePrivateIngress ? undefined : balancer.network?.ip,
  ];
  return ips.filter((ip) => ip !== undefined).map((ip) => ({ ip, ipMode }));
}

/** True when both lists say the same; the API server fills in `ipMode: VIP`, so an absent one is equal to that. */
export function sameIngress(a: readonly V1LoadBalancerIngress[], b: readonly V1LoadBalancerIngress[]): boolean {
  const normal = ({ ip, hostname, ipMode }: V1LoadBalancerIngress) =>
    `${ip ?? ""}|${hostname ?? ""}|${ip ? (ipMode ?? "VIP") : ""}`;
  return a.length === b.length && a.every((entry, index) => normal(entry) === normal(b[index] ?? {}));
}
