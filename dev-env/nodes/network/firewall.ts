/** Renders Hetzner's firewalls as nftables rules. Pure. */
import type { FirewallRule } from "../../cloud/state/records.ts";
import { namesOf } from "./layout.ts";

/** A rule that allows traffic, as in the API. */
export type Rule = Omit<FirewallRule, "description">;

/** The rules of all firewalls that apply to one server. */
export interface FirewalledServer {
  readonly id: number;
  readonly rules: readonly Rule[];
}

const TABLE = "inet firewalls";

/**
 * Rules for the links between the internet and servers with firewalls. Inbound traffic needs a rule; outbound traffic
 * needs one only if there is any outbound rule; replies always pass. Private traffic is never filtered.
 */
export function renderFirewalls(servers: readonly FirewalledServer[]): string {
  return `table ${TABLE} {
}
delete table ${TABLE}
table ${TABLE} {
  chain to_servers {
    type filter hook postrouting priority 0; policy accept;
${servers.flatMap((it) => chainOf(it, "in", `oifname "${namesOf(it.id).publicPeer}"`)).join("\n")}
  }
  chain from_servers {
    type filter hook prerouting priority -150; policy accept;
${servers.flatMap((it) => chainOf(it, "out", `iifname "${namesOf(it.id).publicPeer}"`)).join("\n")}
  }
}
`;
}

function chainOf({ rules }: FirewalledServer, direction: Rule["direction"], link: string): readonly string[] {
  const own = rules.filter((rule) => rule.direction === direction);
  if (direction === "out" && own.length === 0) return [];
  return [
    `    ${link} ct state established,related accept`,
    ...own.flatMap((rule) => matchesOf(rule).map((match) => `    ${link} ${match} accept`)),
    `    ${link} drop`,
  ];
}

/** One match for each address family of a rule. */
function matchesOf({ direction, source_ips, destination_ips, protocol, port }: Rule): readonly string[] {
  const ranges = direction === "in" ? source_ips : destination_ips;
  const field = direction === "in" ? "saddr" : "daddr";
  const families = [
    ["ip", ranges.filter((range) => !range.includes(":")), protocol],
    ["ip6", ranges.filter((range) => range.includes(":")), protocol === "icmp" ? "ipv6-icmp" : protocol],
  ] as const;
  return families
    .filter(([, members]) => members.length > 0)
    .map(([family, members, name]) => `${family} ${field} { ${members.join(", ")} } ${portMatch(name, port)}`);
}

function portMatch(protocol: string, port: string | null): string {
  if (port === null || port === "any") return `meta l4proto ${protocol}`;
  return `${protocol} dport ${port}`;
}
