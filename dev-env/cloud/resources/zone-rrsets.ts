/** Routes of `/zones/{}/rrsets`. */
import { notFound } from "../api/errors.ts";
import { commonRules, type ListRules, textFilter } from "../api/listing.ts";
import { given, pageAnswer, rowIn } from "../api/resource.ts";
import type { Answer, Call, Route } from "../api/route.ts";
import { type Check, parseBody } from "../api/schema.ts";
import { type Project, rrsetKey } from "../state/project.ts";
import type { RrsetRecord, ZoneRecord } from "../state/records.ts";
import {
  bodies,
  checkChangeable,
  checkMode,
  checkRrset,
  withComments,
  withoutRecords,
  withRecords,
} from "./zone-rules.ts";
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
  const set = findRrset(call, zone);
  if (!set) throw notFound("rrset", call.names.slice(1).join("/"));
  return set;
}

/** Starts the action of a change. `also` is in the response as well. */
function changed({ project }: Call, zone: ZoneRecord, command: string, also: object = {}): Answer {
  const action = project.actions.start(zoneAction(zone, command));
  return { status: 201, body: { ...also, action: project.actions.view(action) } };
}

function list(call: Call): Answer {
  const rows = call.project.rrsets.rowsWith(`zone/${zoneIn(call).id}`);
  return pageAnswer(call, { plural: "rrsets", rows, rules, view: viewRrset });
}

function create(call: Call): Answer {
  const zone = zoneIn(call);
  const set = createRrset(call.project, zone, parseBody(bodies.createRrset, call.body));
  return changed(call, zone, "create_rrset", { rrset: viewRrset(set) });
}

function update(call: Call): Answer {
  const set = rrsetIn(call, zoneIn(call));
  const after = call.project.rrsets.put({ ...set, ...given(parseBody(bodies.labels, call.body)) });
  return { status: 200, body: { rrset: viewRrset(after) } };
}

function remove(call: Call): Answer {
  const zone = zoneIn(call);
  const set = rrsetIn(call, zone);
  checkChangeable(set);
  call.project.rrsets.delete(set.id);
  return changed(call, zone, "delete_rrset");
}

/** Creates the record set if it does not exist. */
function addRecords(call: Call): Answer {
  const zone = zoneIn(call);
  const body = parseBody(bodies.addRecords, call.body);
  const set = findRrset(call, zone);
  const [, name, type] = call.names;
  if (!set) createRrset(call.project, zone, parseBody(bodies.createRrset, { ...body, name, type }));
  else store(call.project, zone, withRecords(changeable(set), body));
  return changed(call, zone, "add_rrset_records");
}

function changeable(set: RrsetRecord): RrsetRecord {
  checkChangeable(set);
  return set;
}

/** A record set without records ceases to exist. */
function store(project: Project, zone: ZoneRecord, set: RrsetRecord): void {
  checkRrset(zone, set);
  if (set.records.length === 0) project.rrsets.delete(set.id);
  else project.rrsets.put(set);
}

interface Change<B> {
  readonly name: string;
  readonly command: string;
  readonly body: Check<B>;
  /** By default 201. */
  readonly status?: number;
  readonly change: (set: RrsetRecord, body: B) => RrsetRecord;
}

/** `POST /zones/{}/rrsets/{}/{}/actions/<name>` for a record set that exists. */
function changeRoute<B>({ name, command, body, status = 201, change }: Change<B>): Route {
  const handle = (call: Call): Answer => {
    const zone = zoneIn(call);
    const set = rrsetIn(call, zone);
    store(call.project, zone, change(set, parseBody(body, call.body)));
    return { ...changed(call, zone, command), status };
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
  changeRoute({
    name: "change_protection",
    command: "change_rrset_protection",
    body: bodies.changeRrsetProtection,
    change: (set, protection) => ({ ...set, protection }),
  }),
  changeRoute({
    name: "change_ttl",
    command: "change_rrset_ttl",
    body: bodies.changeRrsetTtl,
    change: (set, { ttl }) => ({ ...changeable(set), ttl }),
  }),
  changeRoute({
    name: "set_records",
    command: "set_rrset_records",
    body: bodies.records,
    change: (set, { records }) => ({ ...changeable(set), records }),
  }),
  changeRoute({
    name: "remove_records",
    command: "remove_rrset_records",
    body: bodies.records,
    change: (set, { records }) => withoutRecords(changeable(set), records),
  }),
  changeRoute({
    name: "update_records",
    command: "update_rrset_records",
    body: bodies.records,
    status: 200,
    change: (set, { records }) => withComments(changeable(set), records),
  }),
];
