/** Routes of `/zones`, except record sets. */
import { isProtected, nameTaken } from "../api/errors.ts";
import { commonRules, textFilter } from "../api/listing.ts";
import {
  type ActionDefinition,
  actionReadRoutes,
  actionRoute,
  changed,
  claimName,
  readRoutes,
  rowIn,
  type StoredKind,
  updateRoute,
} from "../api/resource.ts";
import type { Answer, Call, Route } from "../api/route.ts";
import { boolean, object, optional, parseBody } from "../api/schema.ts";
import type { ActionStart } from "../state/actions.ts";
import { type Project, rrsetKey } from "../state/project.ts";
import type { RrsetRecord, ZoneRecord } from "../state/records.ts";
import { bodies, checkMode, checkRrset, defaultRrsets, NAME_SERVERS, newZone, withPorts } from "./zone-rules.ts";

/** Adds the number of records, and what Hetzner finds out about the domain. */
export function viewZone(project: Project, zone: ZoneRecord) {
  const sets = project.rrsets.rowsWith(`zone/${zone.id}`);
  return {
    ...zone,
    status: "ok" as const,
    record_count: sets.reduce((sum, { records }) => sum + records.length, 0),
    authoritative_nameservers: {
      assigned: NAME_SERVERS,
      delegated: [],
      delegation_last_check: null,
      delegation_status: "unknown" as const,
    },
    registrar: "unknown" as const,
  };
}

/** Zones, for the generic routes. */
export const zoneKind: StoredKind<ZoneRecord, ReturnType<typeof viewZone>> = {
  singular: "zone",
  rows: (project) => project.zones,
  view: viewZone,
  rules: commonRules({ mode: textFilter(({ mode }) => mode) }),
};

/** The action of a change to the zone or to one of its record sets. */
export function zoneAction({ id }: ZoneRecord, command: string): ActionStart {
  return { command, resources: [{ type: "zone", id }] };
}

/** Stores a new record set. Throws if there is one of its name and type. */
export function createRrset(
  project: Project,
  zone: ZoneRecord,
  { name, labels, ...set }: ReturnType<typeof bodies.createRrset>,
): RrsetRecord {
  checkRrset(zone, { name, ...set });
  if (project.rrsets.idsWith(rrsetKey({ zone: zone.id, name, type: set.type })).size > 0)
    throw nameTaken("rrset with the same name and type already exists");
  const resource = project.newResource(name, labels);
  return project.rrsets.put({ ...resource, ...set, zone: zone.id, protection: { change: false } });
}

function create({ project, ...call }: Call): Answer {
  const body = parseBody(bodies.createZone, call.body);
  claimName(project.zones, body.name);
  const zone = project.zones.put({ ...project.newResource(body.name, body.labels), ...newZone(body) });
  if (zone.mode === "primary") {
    for (const set of [...defaultRrsets(), ...(body.rrsets ?? [])]) createRrset(project, zone, set);
  }
  return changed(project, zoneAction(zone, "create_zone"), { zone: viewZone(project, zone) });
}

function remove(call: Call): Answer {
  const { project } = call;
  const zone = rowIn(zoneKind, call);
  if (zone.protection.delete) throw isProtected("zone");
  for (const { id } of project.rrsets.rowsWith(`zone/${zone.id}`)) project.rrsets.delete(id);
  project.zones.delete(zone.id);
  return changed(project, zoneAction(zone, "delete_zone"));
}

/** `POST /zones/{}/actions/<name>`, which changes fields of the row. */
function changeRoute<B>(
  name: string,
  body: ActionDefinition<ZoneRecord, B>["body"],
  change: (zone: ZoneRecord, body: B) => Partial<ZoneRecord>,
): Route {
  const run = (project: Project, zone: ZoneRecord, given: B) =>
    zoneAction(project.zones.put({ ...zone, ...change(zone, given) }), name);
  return actionRoute(zoneKind, { name, body, run });
}

/** All of `/zones` but the record sets. */
export const zoneRoutes: readonly Route[] = [
  ...readRoutes(zoneKind),
  ...actionReadRoutes(zoneKind),
  { method: "POST", path: "/zones", handle: create },
  updateRoute(zoneKind, bodies.labels),
  { method: "DELETE", path: "/zones/{}", handle: remove },
  changeRoute("change_protection", object({ delete: optional(boolean) }), ({ protection }, body) => ({
    protection: { delete: body.delete ?? protection.delete },
  })),
  changeRoute("change_ttl", bodies.changeZoneTtl, (zone, { ttl }) => {
    checkMode(zone, "primary");
    return { ttl };
  }),
  changeRoute("change_primary_nameservers", bodies.changeNameServers, (zone, { primary_nameservers }) => {
    checkMode(zone, "secondary");
    return { primary_nameservers: withPorts(primary_nameservers) };
  }),
];
