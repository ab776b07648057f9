/** Routes of server actions. */
import { found, invalidField, refuse } from "../api/errors.ts";
import { id, idOrName, pick } from "../api/fields.ts";
import { actionRoute, noBody } from "../api/resource.ts";
import type { Route } from "../api/route.ts";
import { array, boolean, type Check, nullable, object, oneOf, optional, string } from "../api/schema.ts";
import type { Effect, ResourceRef } from "../state/actions.ts";
import type { Project } from "../state/project.ts";
import type { ServerRecord } from "../state/records.ts";
import { catalogue, serverTypeNamed } from "./catalogue.ts";
import { detachServer } from "./network-members.ts";
import { checkRoom } from "./placement-groups.ts";
import { setDnsPtr } from "./primary-ip-rules.ts";
import { passwordFor } from "./server-create.ts";
import { aliasIpsBody, attachServer, attachServerBody, changeAliasIps, notAttached } from "./server-network.ts";
import { checkStopped, checkUnlocked, serverKind, serverRef } from "./servers.ts";

/** What an action does: an effect at its end, further resources, additional response fields. */
interface Outcome {
  readonly effect?: Effect;
  readonly resources?: readonly ResourceRef[];
  readonly also?: object;
}

/** A route for an action. `name` is the path, `command` the name of the action, and mostly the same. */
function action<B>(
  names: string | readonly [path: string, command: string],
  check: Check<B>,
  run: (project: Project, server: ServerRecord, body: B) => Outcome,
): Route {
  const [path, command] = typeof names === "string" ? [names, names] : names;
  return actionRoute(serverKind, {
    name: path,
    body: check,
    run: (project, server, body: B) => {
      checkUnlocked(project, server);
      const { resources = [], ...outcome } = run(project, server, body);
      return { command, resources: [serverRef(server), ...resources], ...outcome };
    },
  });
}

/** Power actions have an intermediate status until they end. */
function power(path: string, command: string, after: "running" | "off"): Route {
  const status = after === "off" ? "stopping" : "starting";
  return action([path, command], noBody, (project, server) => {
    if (server.status !== after) project.servers.put({ ...server, status });
    return { effect: { kind: "server-status", server: server.id, status: after } };
  });
}

/** An action that only changes fields of the server. */
function change<B>(
  names: string | readonly [path: string, command: string],
  check: Check<B>,
  fields: (server: ServerRecord, body: B) => Partial<ServerRecord>,
): Route {
  return action(names, check, (project, server, body) => {
    project.servers.put({ ...server, ...fields(server, body) });
    return {};
  });
}

function changeType(server: ServerRecord, body: { server_type: string; upgrade_disk: boolean }) {
  checkStopped(server);
  const type = found(pick(catalogue.serverTypes, body.server_type), "server type", body.server_type);
  const current = serverTypeNamed(server.server_type);
  const fits = type.architecture === current.architecture && type.disk >= server.primary_disk_size;
  if (!fits || type === current)
    throw refuse("invalid_server_type", `server type ${type.name} does not fit this server`);
  return { server_type: type.name, primary_disk_size: body.upgrade_disk ? type.disk : server.primary_disk_size };
}

function changeProtection(server: ServerRecord, body: { delete: boolean | undefined; rebuild: boolean | undefined }) {
  const protection = {
    delete: body.delete ?? server.protection.delete,
    rebuild: body.rebuild ?? server.protection.rebuild,
  };
  if (protection.delete !== protection.rebuild) throw invalidField("rebuild", "Must equal delete.");
  return { protection };
}

const withPassword = (server: ServerRecord): Outcome => ({ also: { root_password: passwordFor(server.id) } });

const networkRef = (network: number): ResourceRef => ({ type: "network", id: network });

const networkActions: readonly Route[] = [
  action("attach_to_network", attachServerBody, (project, server, body) => {
    attachServer(project, server, body);
    return { resources: [networkRef(body.network)] };
  }),
  action("detach_from_network", object({ network: id }), (project, server, body) => {
    if (!server.private_net.some(({ network }) => network === body.network)) throw notAttached(body.network);
    detachServer(project, server, body.network);
    return { resources: [networkRef(body.network)] };
  }),
  action("change_alias_ips", aliasIpsBody, (project, server, body) => {
    changeAliasIps(project, server, body);
    return { resources: [networkRef(body.network)] };
  }),
];

const placementActions: readonly Route[] = [
  action("add_to_placement_group", object({ placement_group: id }), (project, server, body) => {
    const group = found(project.placementGroups.get(body.placement_group), "placement group", body.placement_group);
    if (server.placement_group !== null) {
      throw refuse("already_in_placement_group", "server is already part of a placement group");
    }
    checkStopped(server);
    checkRoom(project, group);
    project.servers.put({ ...server, placement_group: group.id });
    return { resources: [{ type: "placement_group", id: group.id }] };
  }),
  change("remove_from_placement_group", noBody, () => ({ placement_group: null })),
];

const rescueBody = object({ type: optional(oneOf("linux64")), ssh_keys: optional(array(id)) });

/** All actions of servers. Each requires that the server is unlocked. */
export const serverActionRoutes: readonly Route[] = [
  power("poweron", "start_server", "running"),
  power("poweroff", "stop_server", "off"),
  power("shutdown", "shutdown_server", "off"),
  change(["reboot", "reboot_server"], noBody, () => ({})),
  change(["reset", "reset_server"], noBody, () => ({})),
  ...networkActions,
  ...placementActions,
  change("change_protection", object({ delete: optional(boolean), rebuild: optional(boolean) }), changeProtection),
  change(["change_type", "change_server_type"], object({ server_type: idOrName, upgrade_disk: boolean }), changeType),
  action("change_dns_ptr", object({ ip: string(), dns_ptr: nullable(string()) }), (project, server, body) => {
    setDnsPtr(project, [server.ipv4, server.ipv6], body);
    return {};
  }),
  change("enable_backup", noBody, () => ({ backup_window: "22-02" })),
  change("disable_backup", noBody, () => ({ backup_window: null })),
  change("attach_iso", object({ iso: idOrName }), (_server, body) => ({
    iso: found(pick(catalogue.isos, body.iso), "iso", body.iso).id,
  })),
  change("detach_iso", noBody, () => ({ iso: null })),
  action("enable_rescue", rescueBody, (project, server) => {
    project.servers.put({ ...server, rescue_enabled: true });
    return withPassword(server);
  }),
  change("disable_rescue", noBody, () => ({ rescue_enabled: false })),
  action("reset_password", noBody, (_project, server) => withPassword(server)),
  action("request_console", noBody, (_project, server) => ({
    also: { wss_url: `wss://console.invalid/?server_id=${server.id}`, password: passwordFor(server.id) },
  })),
  action(["rebuild", "rebuild_server"], object({ image: idOrName }), (project, server, body) => {
    if (server.protection.rebuild) throw refuse("protected", "server rebuild is protected");
    const image = found(pick(catalogue.images, body.image), "image", body.image);
    project.servers.put({ ...server, image: image.id, status: "rebuilding" });
    const effect = { kind: "server-status", server: server.id, status: "running" } as const;
    return { effect, ...withPassword(server) };
  }),
];
