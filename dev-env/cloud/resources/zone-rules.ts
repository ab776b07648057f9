/** Rules of zones and their record sets. Pure. */
import { isIPv4, isIPv6 } from "node:net";
import { invalidField, notFound, refuse } from "../api/errors.ts";
import { port } from "../api/fields.ts";
import { labels } from "../api/labels.ts";
import {
  array,
  boolean,
  type Check,
  integer,
  nullable,
  object,
  oneOf,
  optional,
  reject,
  string,
} from "../api/schema.ts";
import type { DnsRecord, Resource, RrsetRecord, ZoneRecord } from "../state/records.ts";

/** The name servers of every zone. */
export const NAME_SERVERS = ["hydrogen.ns.hetzner.com.", "oxygen.ns.hetzner.com.", "helium.ns.hetzner.de."];

const TYPES = "A AAAA CAA CNAME DS HINFO HTTPS MX NS PTR RP SOA SRV SVCB TLSA TXT".split(" ");
const MAX_RECORDS = 50;
const DEFAULT_TTL = 3600;

const ttl = integer({ min: 60, max: 2 ** 31 - 1 });
const zoneName = string({ max: 255, pattern: /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/ });
const rrsetName = string({ max: 255, pattern: /^@$|^(\*|[a-z0-9_-]+)(\.[a-z0-9_-]+)*$/ });
const nameServer = object({
  address: string({ pattern: /^[0-9a-f.:]+$/ }),
  port: optional(port),
  tsig_key: optional(string()),
  tsig_algorithm: optional(oneOf("hmac-md5", "hmac-sha1", "hmac-sha256")),
});

/** Distinct records, at least one. */
const records: Check<readonly DnsRecord[]> = (value, path) => {
  const given = array(object({ value: string({ min: 1 }), comment: optional(string()) }), MAX_RECORDS)(value, path);
  if (given.length === 0) return reject(path, "Must not be empty.");
  if (new Set(given.map((record) => record.value)).size < given.length) return reject(path, "Values must be distinct.");
  return given.map(({ value: text, comment }) => ({ value: text, ...(comment && { comment }) }));
};

const rrset = { name: rrsetName, type: oneOf(...TYPES), ttl: nullable(ttl), records, labels: optional(labels) };

/** Bodies of the requests. */
export const bodies = {
  createZone: object({
    name: zoneName,
    mode: oneOf("primary", "secondary"),
    ttl: optional(ttl),
    labels: optional(labels),
    primary_nameservers: optional(array(nameServer)),
    rrsets: optional(array(object(rrset))),
  }),
  changeZoneTtl: object({ ttl }),
  changeNameServers: object({ primary_nameservers: array(nameServer) }),
  createRrset: object(rrset),
  changeRrsetProtection: object({ change: boolean }),
  changeRrsetTtl: object({ ttl: nullable(ttl) }),
  addRecords: object({ ttl: nullable(ttl), records }),
  records: object({ records }),
  labels: object({ labels: optional(labels) }),
};

/** The own fields of a new zone. */
export function newZone(body: ReturnType<typeof bodies.createZone>): Omit<ZoneRecord, keyof Resource> {
  const { mode, primary_nameservers = [] } = body;
  return {
    mode,
    ttl: body.ttl ?? DEFAULT_TTL,
    protection: { delete: false },
    ...(mode === "secondary" && { primary_nameservers: withPorts(primary_nameservers) }),
  };
}

/** Name servers, with the default port. */
export function withPorts(servers: ReturnType<typeof bodies.changeNameServers>["primary_nameservers"]) {
  return servers.map(({ address, port: number = 53, tsig_key, tsig_algorithm }) => ({
    address,
    port: number,
    ...(tsig_key && { tsig_key }),
    ...(tsig_algorithm && { tsig_algorithm }),
  }));
}

/** The record sets that every primary zone has. */
export function defaultRrsets(): readonly ReturnType<typeof bodies.createRrset>[] {
  const soa = `${NAME_SERVERS[0]} dns.hetzner.com. 2026110100 86400 10800 3600000 3600`;
  const apex = { name: "@", ttl: null, labels: undefined };
  return [
    { ...apex, type: "SOA", records: [{ value: soa }] },
    { ...apex, type: "NS", records: NAME_SERVERS.map((value) => ({ value })) },
  ];
}

/** Throws if the zone is transferred from other servers, which then own its record sets. */
export function checkMode(zone: ZoneRecord, mode: ZoneRecord["mode"]): void {
  if (zone.mode !== mode) throw refuse("incorrect_zone_mode", `zone ${zone.name} is in ${zone.mode} mode`);
}

/** The record set, to be changed. Throws if that is forbidden. */
export function changeable(set: RrsetRecord): RrsetRecord {
  if (set.protection.change) throw refuse("protected", "rrset is protected against changes");
  return set;
}

/** Throws if the name repeats the zone's, or an address record holds no address. */
export function checkRrset({ name }: ZoneRecord, set: Pick<RrsetRecord, "name" | "type" | "records">): void {
  if (set.name === name || set.name.endsWith(`.${name}`))
    throw invalidField("name", "Must not end with the zone's name.");
  const isAddress = { A: isIPv4, AAAA: isIPv6 }[set.type];
  const wrong = isAddress && set.records.find(({ value }) => !isAddress(value));
  if (wrong) throw invalidField("records", `'${wrong.value}' is not a value of type ${set.type}.`);
}

/** The record set with more records. A given TTL must not contradict the present one. */
export function withRecords(set: RrsetRecord, added: ReturnType<typeof bodies.addRecords>): RrsetRecord {
  if (added.ttl !== null && added.ttl !== set.ttl) throw invalidField("ttl", "Must be the same as the RRSet's.");
  const present = new Set(set.records.map(({ value }) => value));
  if (added.records.some(({ value }) => present.has(value))) throw invalidField("records", "Values must be distinct.");
  return { ...set, records: [...set.records, ...added.records] };
}

/** The record set without these records. */
export function withoutRecords(set: RrsetRecord, removed: readonly DnsRecord[]): RrsetRecord {
  const values = valuesIn(set, removed);
  return { ...set, records: set.records.filter(({ value }) => !values.has(value)) };
}

/** The record set with new comments. */
export function withComments(set: RrsetRecord, changed: readonly DnsRecord[]): RrsetRecord {
  valuesIn(set, changed);
  const comments = new Map(changed.map((record) => [record.value, record]));
  return { ...set, records: set.records.map((record) => comments.get(record.value) ?? record) };
}

/** The values of records that the set must have. */
function valuesIn(set: RrsetRecord, wanted: readonly DnsRecord[]): ReadonlySet<string> {
  const present = new Set(set.records.map(({ value }) => value));
  const missing = wanted.find(({ value }) => !present.has(value));
  if (missing) throw notFound("record", missing.value);
  return new Set(wanted.map(({ value }) => value));
}
