/** Rules for firewalls and what they apply to. */
import { isDeepStrictEqual } from "node:util";
import ipaddr from "ipaddr.js";
import { ApiError, invalidField, limitExceeded, refuse } from "../api/errors.ts";
import { id } from "../api/fields.ts";
import { selectorOf } from "../api/labels.ts";
import { array, type Check, type Checked, object, oneOf, optional, reject, string } from "../api/schema.ts";
import { isRange } from "../state/cidr.ts";
import type { Project } from "../state/project.ts";
import type { FirewallRecord, FirewallRule, FirewallScope, ServerRecord } from "../state/records.ts";

const MAX_RULES = 50;
const MAX_FIREWALLS_PER_SERVER = 5;

/** An IPv4 or IPv6 range with empty host bits. IPv6 is returned in canonical notation. */
const range: Check<string> = (value, path) => {
  if (typeof value !== "string" || !isRange(value)) return reject(path, "Must be a CIDR.");
  const [address, bits] = ipaddr.parseCIDR(value);
  return address instanceof ipaddr.IPv6 ? `${address.toRFC5952String()}/${bits}` : value;
};

const PORT = /^(\d{1,5})(?:-(\d{1,5}))?$/;

const portRange: Check<string> = (value, path) => {
  const match = typeof value === "string" ? PORT.exec(value) : null;
  const [from, to] = [Number(match?.[1] ?? 0), Number(match?.[2] ?? match?.[1] ?? 0)];
  return match && from >= 1 && from <= to && to <= 65_535
    ? String(value)
    : reject(path, "Must be a port or port range.");
};

const ruleBody = object({
  description: optional(string({ max: 255 })),
  direction: oneOf("in", "out"),
  source_ips: optional(array(range, 100)),
  destination_ips: optional(array(range, 100)),
  protocol: oneOf("tcp", "udp", "icmp", "esp", "gre"),
  port: optional(portRange),
});

/** Rules in a request. */
export const rulesBody = array(ruleBody, MAX_RULES);

const scopeBody = object({
  type: oneOf("server", "label_selector"),
  server: optional(object({ id })),
  label_selector: optional(object({ selector: string({ min: 1, max: 1000 }) })),
});

/** Scopes in a request. */
export const scopesBody = array(scopeBody);

type RuleRequest = Checked<typeof ruleBody>;
type ScopeRequest = Checked<typeof scopeBody>;

/** Adds defaults. Ports are for tcp and udp only, and addresses depend on the direction. */
export function renderRule(rule: RuleRequest, index: number): FirewallRule {
  const field = `rules.${index}`;
  const hasPorts = rule.protocol === "tcp" || rule.protocol === "udp";
  if (hasPorts !== (rule.port !== undefined))
    throw invalidField(`${field}.port`, "Must be given for tcp and udp only.");
  const [needed, other] =
    rule.direction === "in"
      ? (["source_ips", "destination_ips"] as const)
      : (["destination_ips", "source_ips"] as const);
  if ((rule[needed] ?? []).length === 0) throw invalidField(`${field}.${needed}`, "Missing data for required field.");
  if ((rule[other] ?? []).length > 0) throw invalidField(`${field}.${other}`, "Does not fit the direction.");
  return {
    description: rule.description ?? null,
    direction: rule.direction,
    source_ips: rule.source_ips ?? [],
    destination_ips: rule.destination_ips ?? [],
    protocol: rule.protocol,
    port: rule.port ?? null,
  };
}

/** Parses a scope. The status for unknown servers differs between create and apply. */
export function renderScope(project: Project, scope: ScopeRequest, unknownStatus: 404 | 422): FirewallScope {
  if (scope.type === "server" && scope.server) {
    if (!project.servers.get(scope.server.id)) {
      throw new ApiError(unknownStatus, "firewall_resource_not_found", `server ${scope.server.id} not found`);
    }
    return { type: "server", server: { id: scope.server.id } };
  }
  if (scope.type === "label_selector" && scope.label_selector) {
    selectorOf(scope.label_selector.selector, "label_selector.selector");
    return { type: "label_selector", label_selector: { selector: scope.label_selector.selector } };
  }
  throw invalidField(scope.type, "Missing data for required field.");
}

/** The servers in a scope. */
export function serversOf(project: Project, scope: FirewallScope): readonly ServerRecord[] {
  if (scope.type === "label_selector") return project.serversMatching(scope.label_selector.selector);
  const server = project.servers.get(scope.server.id);
  return server ? [server] : [];
}

/** Adds scopes. Throws for scopes that exist and servers without a public network. */
export function applyScopes(
  project: Project,
  firewall: FirewallRecord,
  scopes: readonly FirewallScope[],
): FirewallRecord {
  let { applied_to } = firewall;
  for (const scope of scopes) {
    if (applied_to.some((other) => isDeepStrictEqual(other, scope))) {
      throw refuse("firewall_already_applied", "firewall is already applied to this resource");
    }
    if (scope.type === "server") checkServer(project, scope.server.id);
    applied_to = [...applied_to, scope];
  }
  return { ...firewall, applied_to };
}

function checkServer(project: Project, id: number): void {
  const server = project.servers.get(id);
  if (server && server.ipv4 === null && server.ipv6 === null) {
    throw refuse("private_net_only_server", "firewalls need a server with a public network");
  }
  if (project.firewalls.idsWith(`server/${id}`).size >= MAX_FIREWALLS_PER_SERVER)
    throw limitExceeded("firewalls_per_server");
}

/** Removes scopes. Throws for scopes that do not exist, or that apply only by label. */
export function removeScopes(
  project: Project,
  firewall: FirewallRecord,
  scopes: readonly FirewallScope[],
): FirewallRecord {
  for (const scope of scopes) {
    if (firewall.applied_to.some((other) => isDeepStrictEqual(other, scope))) continue;
    const byLabel = firewall.applied_to.filter((other) => other.type === "label_selector");
    const reached = byLabel.flatMap((other) => serversOf(project, other)).map((server) => server.id);
    if (scope.type === "server" && reached.includes(scope.server.id)) {
      throw refuse("firewall_managed_by_label_selector", "firewall is applied to the server by a label selector");
    }
    throw new ApiError(404, "firewall_resource_not_found", "firewall is not applied to this resource");
  }
  const applied_to = firewall.applied_to.filter((other) => !scopes.some((scope) => isDeepStrictEqual(other, scope)));
  return { ...firewall, applied_to };
}
