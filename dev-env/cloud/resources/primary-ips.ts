/** Routes of `/primary_ips`. */
import { found, invalidField, isProtected, refuse } from "../api/errors.ts";
import { id, idOrName, name, pick } from "../api/fields.ts";
import { labels } from "../api/labels.ts";
import { commonRules, textFilter } from "../api/listing.ts";
import {
  actionReadRoutes,
  actionRoute,
  changed,
  deleteRoute,
  noBody,
  readRoutes,
  renaming,
  type StoredKind,
  updateRoute,
} from "../api/resource.ts";
import type { Answer, Call, Route } from "../api/route.ts";
import {
  boolean,
  type Check,
  type Checked,
  nullable,
  object,
  oneOf,
  optional,
  parseBody,
  string,
} from "../api/schema.ts";
import type { ActionStart, ResourceRef } from "../state/actions.ts";
import type { Project } from "../state/project.ts";
import type { PrimaryIpRecord, ServerRecord } from "../state/records.ts";
import { catalogue, locationNamed } from "./catalogue.ts";
import { createPrimaryIp, setDnsPtr } from "./primary-ip-rules.ts";
import { checkStopped, serverRef } from "./servers.ts";

/** Embeds the location and adds the fields of the assignee. A free IP has the type `unassigned` since August 2026. */
export function viewPrimaryIp(_project: Project, { assignee, ...ip }: PrimaryIpRecord) {
  return {
    ...ip,
    location: locationNamed(ip.location),
    assignee_type: assignee?.type ?? "unassigned",
    assignee_id: assignee?.id ?? null,
  };
}

/** Primary IPs, for the generic routes. */
export const primaryIpKind: StoredKind<PrimaryIpRecord, ReturnType<typeof viewPrimaryIp>> = {
  singular: "primary_ip",
  rows: (project) => project.primaryIps,
  view: viewPrimaryIp,
  rules: {
    ...commonRules({ ip: textFilter((ip) => ip.ip) }),
    sort: { id: (ip) => ip.id, created: (ip) => ip.created },
  },
};

const createBody = object({
  name,
  type: oneOf("ipv4", "ipv6"),
  location: optional(idOrName),
  assignee_type: optional(oneOf("server", "load_balancer")),
  assignee_id: optional(id),
  auto_delete: optional(boolean),
  labels: optional(labels),
});

const updateBody = object({ ...renaming, auto_delete: optional(boolean) });
const assignBody = object({ assignee_type: oneOf("server"), assignee_id: id });

const ipRef = (ip: PrimaryIpRecord): ResourceRef => ({ type: "primary_ip", id: ip.id });

function create({ project, ...call }: Call): Answer {
  const body = parseBody(createBody, call.body);
  const server = body.assignee_id === undefined ? undefined : serverFor(project, body.assignee_id);
  const fresh = createPrimaryIp(project, {
    type: body.type,
    location: server?.location ?? locationOf(body),
    auto_delete: body.auto_delete ?? false,
    assignee: null,
    name: body.name,
    ...(body.labels ? { labels: body.labels } : {}),
  });
  const ip = server ? assign(project, fresh, server) : fresh;
  const start = server ? { command: "create_primary_ip", resources: [ipRef(ip), serverRef(server)] } : null;
  return changed(project, start, { primary_ip: viewPrimaryIp(project, ip) });
}

function locationOf({ location }: Checked<typeof createBody>): string {
  if (location === undefined) throw invalidField("location", "Either location or assignee_id must be given.");
  return found(pick(catalogue.locations, location), "location", location).name;
}

function serverFor(project: Project, serverId: number): ServerRecord {
  return found(project.servers.get(serverId), "server", serverId);
}

function assign(project: Project, ip: PrimaryIpRecord, server: ServerRecord): PrimaryIpRecord {
  if (ip.assignee) throw refuse("primary_ip_already_assigned", "primary ip is already assigned");
  checkStopped(server);
  if (server[ip.type] !== null) throw refuse(`server_has_${ip.type}`, `server already has a primary ${ip.type}`);
  if (ip.location !== server.location) {
    throw refuse("primary_ip_location_mismatch", `primary ip is not in location ${server.location}`);
  }
  project.servers.put({ ...server, [ip.type]: ip.id });
  return project.primaryIps.put({ ...ip, assignee: { type: "server", id: server.id } });
}

function unassign(project: Project, ip: PrimaryIpRecord): ServerRecord {
  if (ip.assignee?.type !== "server") throw refuse("primary_ip_not_assigned", "primary ip is not assigned to a server");
  const server = serverFor(project, ip.assignee.id);
  checkStopped(server);
  const isTarget = project.loadBalancers
    .rowsWith(`server/${server.id}`)
    .some((lb) => lb.targets.some((target) => target.type === "server" && target.server.ip === ip.ip));
  if (isTarget) throw refuse("server_is_load_balancer_target", "server is a load balancer target by this IP");
  project.primaryIps.put({ ...ip, assignee: null });
  return project.servers.put({ ...server, [ip.type]: null });
}

function remove(project: Project, ip: PrimaryIpRecord): void {
  if (ip.protection.delete) throw isProtected("primary ip");
  if (ip.assignee) throw refuse("must_be_unassigned", "primary ip must be unassigned before it is deleted");
  project.primaryIps.delete(ip.id);
}

function action<B>(
  name: string,
  body: Check<B>,
  run: (project: Project, ip: PrimaryIpRecord, body: B) => ActionStart,
): Route {
  return actionRoute(primaryIpKind, { name, body, run });
}

/** All of `/primary_ips`. */
export const primaryIpRoutes: readonly Route[] = [
  ...readRoutes(primaryIpKind),
  ...actionReadRoutes(primaryIpKind),
  { method: "POST", path: "/primary_ips", handle: create },
  updateRoute(primaryIpKind, updateBody),
  deleteRoute(primaryIpKind, remove),
  action("assign", assignBody, (project, ip, body) => {
    const server = serverFor(project, body.assignee_id);
    assign(project, ip, server);
    return { command: "assign_primary_ip", resources: [serverRef(server), ipRef(ip)] };
  }),
  action("unassign", noBody, (project, ip) => {
    const server = unassign(project, ip);
    return { command: "unassign_primary_ip", resources: [serverRef(server), ipRef(ip)] };
  }),
  action("change_dns_ptr", object({ ip: string(), dns_ptr: nullable(string()) }), (project, ip, body) => {
    setDnsPtr(project, [ip.id], body);
    return { command: "change_dns_ptr", resources: [ipRef(ip)] };
  }),
  action("change_protection", object({ delete: boolean }), (project, ip, body) => {
    if (body.delete && ip.auto_delete) throw invalidField("delete", "Needs auto_delete to be off.");
    project.primaryIps.put({ ...ip, protection: { delete: body.delete } });
    return { command: "change_protection", resources: [ipRef(ip)] };
  }),
];
