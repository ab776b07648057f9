/** What the status of a Service says about its balancer. */
import type { V1LoadBalancerIngress } from "@kubernetes/client-node";
import type { LoadBalancerState } from "../../../stacks/units/spec.ts";
import type { Settings } from "./options/settings.ts";

/**
 * Ingress entries in the official order: public IPv4, public IPv6, private; a host name stands for all of them (S19, S20).
 * Nothing when a mistake keeps it unknown what the status should say.
 *
 * An entry is for all ports. As soon as one of them uses the PROXY protocol, traffic from inside the cluster must take the
 * way through the balancer too: nobody else would put the header in front of it.
 */
export function renderIngress(
  balancer: LoadBalancerState,
  { options, broken }: Pick<Settings, "options" | "broken">,
): readonly V1LoadBalancerIngress[] | undefined {
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

/** True when both lists say the same; the API server fills in `ipMode: VIP`, so an absent one is equal to that. */
export function sameIngress(a: readonly V1LoadBalancerIngress[], b: readonly V1LoadBalancerIngress[]): boolean {
  const normal = ({ ip, hostname, ipMode }: V1LoadBalancerIngress) =>
    `${ip ?? ""}|${hostname ?? ""}|${ip ? (ipMode ?? "VIP") : ""}`;
  return a.length === b.length && a.every((entry, index) => normal(entry) === normal(b[index] ?? {}));
}
