/** Routes of `/servers`, except actions. */
import { isProtected, refuse } from "../api/errors.ts";
import { hostname } from "../api/fields.ts";
import { labels } from "../api/labels.ts";
import { commonRules, textFilter } from "../api/listing.ts";
import { actionReadRoutes, changed, readRoutes, rowIn, type StoredKind, updateRoute } from "../api/resource.ts";
import type { Answer, Call, Route } from "../api/route.ts";
import { object, optional, parseBody } from "../api/schema.ts";
import type { ResourceRef } from "../state/actions.ts";
import type { Project } from "../state/project.ts";
import type { ServerRecord } from "../state/records.ts";
import { removeServer } from "./effects.ts";
import { createServer, createServerBody, passwordFor } from "./server-create.ts";
import { firewallsOf, type Server, viewServer } from "./server-view.ts";

/** Servers, for the generic routes. */
export const serverKind: StoredKind<ServerRecord, Server> = {
  singular: "server",
  nameTaken: "server name is already used",
  rows: (project) => project.servers,
  view: viewServer,
  rules: commonRules({ status: textFilter((server) => server.status) }),
};

/** A server as the resource of an action. */
export function serverRef(server: { readonly id: number }): ResourceRef {
  return { type: "server", id: server.id };
}

/** Throws while an action runs. Clients do not retry this error. */
export function checkUnlocked(project: Project, server: ServerRecord): void {
  if (project.actions.isBusy(serverRef(server))) {
    throw refuse("locked", "cannot perform operation because server is locked");
  }
}

/** Throws unless the server is off. */
export function checkStopped(server: ServerRecord): void {
  if (server.status !== "off") throw refuse("server_not_stopped", "server must be stopped for this operation");
}

const updateBody = object({ name: optional(hostname), labels: optional(labels) });

function create({ project, ...call }: Call): Answer {
  const body = parseBody(createServerBody, call.body);
  const server = createServer(project, body);
  const starts = body.start_after_create ?? true;
  const resources = [serverRef(server)];
  const { actions } = project;
  const off = { kind: "server-status", server: server.id, status: "off" } as const;
  const action = actions.start({ command: "create_server", resources, effect: off });
  const afterMs = actions.durationOf("create_server");
  const running = { ...off, status: "running" } as const;
  const next = starts ? [actions.start({ command: "start_server", resources, effect: running, afterMs })] : [];
  return {
    status: 201,
    body: {
      server: viewServer(project, server),
      action: actions.view(action),
      next_actions: next.map(actions.view),
      root_password: (body.ssh_keys ?? []).length > 0 ? null : passwordFor(server.id),
    },
  };
}

function remove(call: Call): Answer {
  const { project } = call;
  const server = rowIn(serverKind, call);
  if (server.protection.delete) throw isProtected("server");
  checkUnlocked(project, server);
  const lingers = project.behaviour.lingeringDeletes;
  if (lingers) project.servers.put({ ...server, status: "deleting" });
  else removeServer(project, server);
  const effect = { kind: "remove-server", server: server.id } as const;
  const action = { command: "delete_server", resources: [serverRef(server)], ...(lingers && { effect }) };
  return { ...changed(project, action), status: 200 };
}

/** Applies firewalls that match new labels, with an action that locks the server. */
function applyNewFirewalls(project: Project, before: ServerRecord, after: ServerRecord): void {
  const had = firewallsOf(project, before);
  for (const id of firewallsOf(project, after).filter((firewall) => !had.includes(firewall))) {
    project.actions.start({ command: "apply_firewall", resources: [serverRef(after), { type: "firewall", id }] });
  }
}

/** All of `/servers`, except actions. */
export const serverRoutes: readonly Route[] = [
  ...readRoutes(serverKind),
  ...actionReadRoutes(serverKind),
  { method: "POST", path: "/servers", handle: create },
  updateRoute(serverKind, updateBody, applyNewFirewalls),
  { method: "DELETE", path: "/servers/{}", handle: remove },
];
