/** Generic routes and helpers that all resources share. */
import type { ActionRecord, ActionStart } from "../state/actions.ts";
import type { Project } from "../state/project.ts";
import type { Row, Table } from "../state/table.ts";
import { found, nameTaken, notFound } from "./errors.ts";
import { name } from "./fields.ts";
import { type Labels, labels } from "./labels.ts";
import { type ListRules, listPage, renderLinks, textFilter } from "./listing.ts";
import { type Answer, type Call, idAt, type Route } from "./route.ts";
import { type Check, object, optional, parseBody } from "./schema.ts";

/** Describes a resource to the generic routes. */
export interface Kind<R extends Row, V> {
  /** The name in responses, e.g. `load_balancer`; paths use the plural. */
  readonly singular: string;
  readonly rows: (project: Project) => { get(id: number): R | undefined; values(): Iterable<R> };
  readonly view: (project: Project, row: R) => V;
  readonly rules: ListRules<R>;
}

/** A kind that can be changed. */
export interface StoredKind<R extends Row, V> extends Kind<R, V> {
  readonly rows: (project: Project) => Table<R>;
  /** The error message for a duplicate name, if it is not the generic one. */
  readonly nameTaken?: string;
}

/** The name in paths and lists, e.g. `load_balancers`. */
export function pluralOf({ singular }: { readonly singular: string }): string {
  return `${singular}s`;
}

/** The row in the path of a request, by id or name. Throws 404 if it does not exist. */
export function rowIn<R extends Row, V>(kind: Kind<R, V>, call: Call): R {
  const id = idAt(call, 0);
  const [name = ""] = call.names;
  const rows = kind.rows(call.project);
  const what = kind.singular.replaceAll("_", " ");
  if (!Number.isNaN(id)) return found(rows.get(id), what, id);
  for (const row of rows.values()) if ("name" in row && row.name === name) return row;
  throw notFound(what, name);
}

/** `GET /things` and `GET /things/{}`. */
export function readRoutes<R extends Row, V>(kind: Kind<R, V>): readonly Route[] {
  const plural = pluralOf(kind);
  const list = (call: Call): Answer => {
    const { project } = call;
    const rows = kind.rows(project).values();
    return pageAnswer(call, { plural, rules: kind.rules, rows, view: (row) => kind.view(project, row) });
  };
  const get = (call: Call): Answer => one(kind, call.project, rowIn(kind, call));
  return [
    { method: "GET", path: `/${plural}`, handle: list },
    { method: "GET", path: `/${plural}/{}`, handle: get },
  ];
}

/** Rows to list, and how to show them. */
export interface Listing<R, V> {
  readonly plural: string;
  readonly rows: Iterable<R>;
  readonly rules: ListRules<R>;
  readonly view: (row: R) => V;
}

/** 200 with the requested page of a list. */
export function pageAnswer<R, V>(call: Call, listing: Listing<R, V>): Answer & { readonly body: object } {
  const { plural, rows, rules, view } = listing;
  const page = listPage(rows, call.query, rules);
  const body = { [plural]: page.rows.map(view), meta: { pagination: page.pagination } };
  return { status: 200, body, links: renderLinks(call.url, page) };
}

/** 200 with a single resource. */
export function one<R extends Row, V>(kind: Kind<R, V>, project: Project, row: R): Answer {
  return { status: 200, body: { [kind.singular]: kind.view(project, row) } };
}

/** Rules for listing actions. They depend on the project, because its clock determines the status. */
export function actionRules({ actions }: Project): ListRules<ActionRecord> {
  const status = (action: ActionRecord) => actions.view(action).status;
  return {
    sort: {
      id: (action) => action.id,
      command: (action) => action.command,
      status,
      started: (action) => action.startedAt,
      finished: (action) => action.endsAt ?? Infinity,
    },
    filters: { id: textFilter((action) => String(action.id)), status: textFilter(status) },
  };
}

/** The routes to read actions: all of a kind, one, those of a resource, one of a resource (deprecated). */
export function actionReadRoutes<R extends Row, V>(kind: Kind<R, V>): readonly Route[] {
  const list = (call: Call, rows: Iterable<ActionRecord>): Answer =>
    pageAnswer(call, { plural: "actions", rows, rules: actionRules(call.project), view: call.project.actions.view });
  const single = ({ project }: Call, id: number): Answer => {
    const action = project.actions.table.get(id);
    if (!action?.resources.some((ref) => ref.type === kind.singular)) throw notFound("action", id);
    return { status: 200, body: { action: project.actions.view(action) } };
  };
  const ofKind = ({ project }: Call) =>
    [...project.actions.table.values()].filter((action) => action.resources.some((ref) => ref.type === kind.singular));
  const ofRow = (call: Call) => call.project.actions.of({ type: kind.singular, id: rowIn(kind, call).id });
  const plural = pluralOf(kind);
  return [
    { method: "GET", path: `/${plural}/actions`, handle: (call) => list(call, ofKind(call)) },
    { method: "GET", path: `/${plural}/actions/{}`, handle: (call) => single(call, idAt(call, 0)) },
    { method: "GET", path: `/${plural}/{}/actions`, handle: (call) => list(call, ofRow(call)) },
    { method: "GET", path: `/${plural}/{}/actions/{}`, handle: (call) => single(call, idAt(call, 1)) },
  ];
}

/** The body of requests without fields. */
export const noBody = object({});

/** The response to a change: starts its action, if there is one. `also` has further fields. */
export function changed({ actions }: Project, start: ActionStart | null, also: object = {}): Answer {
  return { status: 201, body: { ...also, action: start && actions.view(actions.start(start)) } };
}

/** An action of a resource: its path, its body, and how it changes the row. */
export interface ActionDefinition<R, B> {
  readonly name: string;
  readonly body: Check<B>;
  /** Returns the action to start, and additional response fields in `also`. */
  readonly run: (project: Project, row: R, body: B) => ActionStart & { readonly also?: object };
}

/** `POST /things/{}/actions/<name>`: changes the row and returns 201 with the action. */
export function actionRoute<R extends Row, V, B>(kind: Kind<R, V>, definition: ActionDefinition<R, B>): Route {
  const { name, body, run } = definition;
  const handle = (call: Call): Answer => {
    const { project } = call;
    const row = rowIn(kind, call);
    const { also, ...start } = run(project, row, parseBody(body, call.body));
    return changed(project, start, also);
  };
  return { method: "POST", path: `/${pluralOf(kind)}/{}/actions/${name}`, handle };
}

/** Fields that `PUT` accepts for every resource. */
export const renaming = { name: optional(name), labels: optional(labels) };
const renameBody = object(renaming);
/** Zones keep their name. */
type Renaming = { readonly name?: string | undefined; readonly labels?: Labels | undefined };

/** Called after a row has changed. */
type OnUpdate<R> = (project: Project, before: R, after: R) => void;

/** `PUT /things/{}`: changes the given fields, without an action. */
export function updateRoute<R extends Row, V, B extends Renaming>(
  kind: StoredKind<R, V>,
  check: Check<B>,
  onUpdate: OnUpdate<R> = () => {},
): Route {
  const handle = (call: Call): Answer => {
    const { project } = call;
    const row = rowIn(kind, call);
    const body = parseBody(check, call.body);
    const rows = kind.rows(project);
    if (body.name !== undefined) claimName(rows, body.name, { self: row.id, message: kind.nameTaken });
    const after = rows.put({ ...row, ...given(body) });
    onUpdate(project, row, after);
    return one(kind, project, after);
  };
  return { method: "PUT", path: `/${pluralOf(kind)}/{}`, handle };
}

/** `PUT /things/{}` for name and labels only. */
export function renameRoute<R extends Row, V>(kind: StoredKind<R, V>): Route {
  return updateRoute(kind, renameBody);
}

/** `DELETE /things/{}`, which returns 204 without a body. */
export function deleteRoute<R extends Row, V>(kind: Kind<R, V>, remove: (project: Project, row: R) => void): Route {
  const handle = (call: Call): Answer => {
    remove(call.project, rowIn(kind, call));
    return { status: 204 };
  };
  return { method: "DELETE", path: `/${pluralOf(kind)}/{}`, handle };
}

/** Throws if another row of the table has the name. */
export function claimName(
  table: { idsWith(key: string): ReadonlySet<number> },
  name: string,
  options: { readonly self?: number; readonly message?: string | undefined } = {},
): void {
  for (const id of table.idsWith(`name/${name}`)) {
    if (id === options.self) continue;
    throw nameTaken(options.message);
  }
}

/** Removes absent fields from a partial update. */
export function given<T extends object>(fields: T): { [K in keyof T]?: Exclude<T[K], undefined> } {
  const entries = Object.entries(fields).filter(([, value]) => value !== undefined);
  // The type describes exactly the removal of undefined entries.
  return Object.fromEntries(entries) as { [K in keyof T]?: Exclude<T[K], undefined> };
}
