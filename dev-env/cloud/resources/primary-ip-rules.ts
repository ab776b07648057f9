/** Rules for primary IPs and their reverse DNS. */
import { isIPv6 } from "node:net";
import { ApiError, found, limitExceeded, refuse } from "../api/errors.ts";
import type { Labels } from "../api/labels.ts";
import { claimName } from "../api/resource.ts";
import { defaultDnsPtr } from "../state/addresses.ts";
import type { Project } from "../state/project.ts";
import type { PrimaryIpRecord, ServerRecord } from "../state/records.ts";

/** An address to create, and its assignee. */
export interface NewPrimaryIp {
  readonly type: "ipv4" | "ipv6";
  readonly location: string;
  readonly auto_delete: boolean;
  readonly assignee: PrimaryIpRecord["assignee"];
  readonly name?: string;
  readonly labels?: Labels;
}

const MAX_PRIMARY_IPS = 50_000;

/** Creates a primary IP. Without a name it is named after its id, like implicitly created ones. */
export function createPrimaryIp(project: Project, wanted: NewPrimaryIp): PrimaryIpRecord {
  if (project.primaryIps.size >= MAX_PRIMARY_IPS) throw limitExceeded("primary_ips");
  if (wanted.name !== undefined) claimName(project.primaryIps, wanted.name);
  const base = project.newResource(wanted.name ?? "", wanted.labels);
  const ip = wanted.type === "ipv4" ? project.addresses.nextServerIpv4() : project.addresses.nextServerIpv6();
  return project.primaryIps.put({
    ...base,
    name: wanted.name ?? `primary_ip-${base.id}`,
    type: wanted.type,
    ip,
    location: wanted.location,
    assignee: wanted.assignee,
    auto_delete: wanted.auto_delete,
    blocked: false,
    dns_ptr: wanted.type === "ipv4" ? [{ ip, dns_ptr: defaultDnsPtr(ip) }] : [],
    protection: { delete: false },
  });
}

/** The assignee, location and version of an address. */
export interface Assignment {
  readonly version: "ipv4" | "ipv6";
  readonly location: string;
  readonly assignee: NonNullable<PrimaryIpRecord["assignee"]>;
}

/** Assigns an existing free address to a new server or load balancer. */
export function assignTo(project: Project, id: number, { version, location, assignee }: Assignment): PrimaryIpRecord {
  const ip = found(project.primaryIps.get(id), "primary ip", id);
  if (ip.type !== version) {
    throw new ApiError(412, "primary_ip_version_mismatch", `primary ip ${id} is not of type ${version}`);
  }
  if (ip.assignee) throw refuse("primary_ip_assigned", `primary ip ${id} is already assigned`);
  if (ip.location !== location) {
    const code = `primary_ip_${assignee.type === "server" ? "datacenter" : "location"}_mismatch`;
    throw refuse(code, `primary ip ${id} is not in location ${location}`);
  }
  return project.primaryIps.put({ ...ip, assignee });
}

/** Deletes the implicitly created addresses of a deleted server, and frees the others. */
export function releaseIps(project: Project, server: ServerRecord): void {
  for (const id of [server.ipv4, server.ipv6]) {
    const ip = id === null ? undefined : project.primaryIps.get(id);
    if (!ip) continue;
    if (ip.auto_delete) project.primaryIps.delete(ip.id);
    else project.primaryIps.put({ ...ip, assignee: null });
  }
}

/** Sets or (with null) resets the reverse DNS of an address of these primary IPs. */
export function setDnsPtr(
  project: Project,
  ids: readonly (number | null)[],
  { ip, dns_ptr }: { readonly ip: string; readonly dns_ptr: string | null },
): void {
  const owner = ids
    .map((id) => (id === null ? undefined : project.primaryIps.get(id)))
    .find((row) => row && holds(row, ip));
  if (!owner) throw refuse("not_found", `IP '${ip}' not found`);
  const fallback = owner.type === "ipv4" ? defaultDnsPtr(ip) : null;
  const text = dns_ptr ?? fallback;
  const others = owner.dns_ptr.filter((entry) => entry.ip !== ip);
  project.primaryIps.put({ ...owner, dns_ptr: text === null ? others : [...others, { ip, dns_ptr: text }] });
}

function holds(row: PrimaryIpRecord, ip: string): boolean {
  return row.type === "ipv4" ? row.ip === ip : isInPrefix64(ip, row.ip);
}

/** Whether an IPv6 address is in a `…::/64` as written by this simulator. */
export function isInPrefix64(ip: string, prefix: string): boolean {
  const stem = prefix.replace(/::\/64$/, ":");
  return isIPv6(ip) && ip.toLowerCase().startsWith(stem);
}
