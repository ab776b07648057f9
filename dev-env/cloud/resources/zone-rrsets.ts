/** Routes of `/zones/{}/rrsets`. */
import { found } from "../api/errors.ts";
import { commonRules, type ListRules, textFilter } from "../api/listing.ts";
import { changed, given, pageAnswer, rowIn } from "../api/resource.ts";
import type { Answer, Call, Route } from "../api/route.ts";
import { type Check, parseBody } from "../api/schema.ts";
import { type Project, rrsetKey } from "../state/project.ts";
import type { RrsetRecord, ZoneRecord } from "../state/records.ts";
import { bodies, changeable, checkMode, checkRrset, withComments, withoutRecords, withRecords } from "./zone-rules.ts";
import { createRrset, zoneAction, zoneKind } from "./zones.ts";

/** A record set in the shape of the API. Its id is made of name and type. */
export function viewRrset({ created: _, ...set }: RrsetRecord) {
  return { ...set, id: `${set.name}/${set.type}` };
}

const rules: ListRules<RrsetRecord> = {
  ...commonRules({ type: textFilter(({ type }) => type) }),
  sort: { id: (set) => `${set.name}/${set.type}`, name: (set) => set.name, created: (set) => set.created },
  maxPerPage: 100,
};

const ROOT = "/zones/{}/rrsets";
const ONE = `${ROOT}/{}/{}`;

/** The primary zone in the path. */
function zoneIn(call: Call): ZoneRecord {
  const zone = rowIn(zoneKind, call);
  checkMode(zone, "primary");
  return zone;
}

/** The record set with the name and type in the path, if it exists. */
function findRrset({ project, names: [, name = "", type = ""] }: Call, zone: ZoneRecord): RrsetRecord | undefined {
  return project.rrsets.rowsWith(rrsetKey({ zone: zone.id, name, type }))[0];
}

function rrsetIn(call: Call, zone: ZoneRecord): RrsetRecord {
  return found(findRrset(call, zone), "rrset", call.names.slice(1).join("/"));
}

function list(call: Call): Answer {
  const rows = call.project.rrsets.rowsWith(`zone/${zoneIn(call).id}`);
  return pageAnswer(call, { plural: "rrsets", rows, rules, view: viewRrset });
}

function create(call: Call): Answer {
  const zone = zoneIn(call);
  const set = createRrset(call.project, zone, parseBody(bodies.createRrset, call.body));
  return changed(call.project, zoneAction(zone, "create_rrset"), { rrset: viewRrset(set) });
}

function update(call: Call): Answer {
  const set = rrsetIn(call, zoneIn(call));
  const after = call.project.rrsets.put({ ...set, ...given(parseBody(bodies.labels, call.body)) });
  return { status: 200, body: { rrset: viewRrset(after) } };
}

function remove(call: Call): Answer {
  const zone = zoneIn(call);
  const { id } = changeable(rrsetIn(call, zone));
  call.project.rrsets.delete(id);
  return changed(call.project, zoneAction(zone, "delete_rrset"));
}

/** Creates the record set if it does not exist. */
function addRecords(call: Call): Answer {
  const zone = zoneIn(call);
  const body = parseBody(bodies.addRecords, call.body);
  const set = findRrset(call, zone);
  const [, name, type] = call.names;
  if (!set) createRrset(call.project, zone, parseBody(bodies.createRrset, { ...body, name, type }));
  else store(call.project, zone, withRecords(changeable(set), body));
  return changed(call.project, zoneAction(zone, "add_rrset_records"));
}

/** A record set without records ceases to exist. */
function store(project: Project, zone: ZoneRecord, set: RrsetRecord): void {
  checkRrset(zone, set);
  if (set.records.length === 0) project.rrsets.delete(set.id);
  else project.rrsets.put(set);
}

type Change<B> = (set: RrsetRecord, body: B) => RrsetRecord;

/** `POST /zones/{}/rrsets/{}/{}/actions/<name>` for a record set that exists. */
function changeRoute<B>(name: string, body: Check<B>, change: Change<B>, status = 201): Route {
  const handle = (call: Call): Answer => {
    const zone = zoneIn(call);
    const set = rrsetIn(call, zone);
    store(call.project, zone, change(set, parseBody(body, call.body)));
    return { ...changed(call.project, zoneAction(zone, name.replace("_", "_rrset_"))), status };
  };
  return { method: "POST", path: `${ONE}/actions/${name}`, handle };
}

/** All of `/zones/{}/rrsets`. */
export const rrsetRoutes: readonly Route[] = [
  { method: "GET", path: ROOT, handle: list },
  { method: "POST", path: ROOT, handle: create },
  {
    method: "GET",
    path: ONE,
    handle: (call) => ({ status: 200, body: { rrset: viewRrset(rrsetIn(call, zoneIn(call))) } }),
  },
  { method: "PUT", path: ONE, handle: update },
  { method: "DELETE", path: ONE, handle: remove },
  { method: "POST", path: `${ONE}/actions/add_records`, handle: addRecords },
  changeRoute("change_protection", bodies.changeRrsetProtection, (set, protection) => ({ ...set, protection })),
  changeRoute("change_ttl", bodies.changeRrsetTtl, (set, { ttl }) => ({ ...changeable(set), ttl })),
  changeRoute("set_records", bodies.records, (set, { records }) => ({ ...changeable(set), records })),
  changeRoute("remove_records", bodies.records, (set, { records }) => withoutRecords(changeable(set), records)),
  changeRoute("update_records", bodies.records, (set, { records }) => withComments(changeable(set), records), 200),
];
