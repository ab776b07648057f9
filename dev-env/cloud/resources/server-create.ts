/** Creates servers. */
import { createHash } from "node:crypto";
import { found, invalidField, notFound, refuse } from "../api/errors.ts";
import { hostname, id, idOrName, pick } from "../api/fields.ts";
import { labels } from "../api/labels.ts";
import { claimName } from "../api/resource.ts";
import { array, boolean, type Checked, object, optional, string } from "../api/schema.ts";
import type { Project } from "../state/project.ts";
import type { ServerRecord } from "../state/records.ts";
import { catalogue, type Image, type Location, type ServerType } from "./catalogue.ts";
import { checkRoom } from "./placement-groups.ts";
import { assignTo, createPrimaryIp } from "./primary-ip-rules.ts";
import { attachServer } from "./server-network.ts";

const USER_DATA_MAX = 32 * 1024;

/** Body of `POST /servers`. */
export const createServerBody = object({
  name: hostname,
  server_type: idOrName,
  image: idOrName,
  location: optional(idOrName),
  ssh_keys: optional(array(idOrName)),
  user_data: optional(string({ max: USER_DATA_MAX })),
  start_after_create: optional(boolean),
  labels: optional(labels),
  networks: optional(array(id)),
  firewalls: optional(array(object({ firewall: id }))),
  placement_group: optional(id),
  volumes: optional(array(id)),
  automount: optional(boolean),
  public_net: optional(
    object({
      enable_ipv4: optional(boolean),
      enable_ipv6: optional(boolean),
      ipv4: optional(id),
      ipv6: optional(id),
    }),
  ),
});

/** A server in a request. */
export type CreateServer = Checked<typeof createServerBody>;

interface Choice {
  readonly type: ServerType;
  readonly image: Image;
  readonly location: Location;
}

/** Creates a server with its addresses and attachments. It is `initializing` until its actions end. */
export function createServer(project: Project, body: CreateServer): ServerRecord {
  claimName(project.servers, body.name, { message: "server name is already used" });
  const choice = choose(body);
  checkReferences(project, body);
  checkReachable(body);
  const server = addMachine(project, body, choice);
  for (const network of body.networks ?? []) {
    const current = project.servers.get(server.id) ?? server;
    attachServer(project, current, { network, ip: undefined, alias_ips: undefined, ip_range: undefined });
  }
  return project.servers.get(server.id) ?? server;
}

function choose(body: CreateServer): Choice {
  const { serverTypes, images, locations } = catalogue;
  const type = found(pick(serverTypes, body.server_type), "server type", body.server_type);
  const fitting = images.filter((image) => image.architecture === type.architecture);
  const image = found(pick(fitting, body.image), "image", body.image);
  const places = locations.filter((location) => type.locations.some((place) => place.name === location.name));
  const wanted = body.location === undefined ? places[0] : pick(locations, body.location);
  const location = found(wanted, "location", body.location ?? "");
  if (!places.includes(location)) {
    throw refuse("resource_unavailable", `server type ${type.name} is not available in ${location.name}`);
  }
  return { type, image, location };
}

function checkReferences(project: Project, body: CreateServer): void {
  for (const key of body.ssh_keys ?? []) found(pick(project.sshKeys.values(), key), "ssh keys", key);
  for (const id of body.networks ?? []) found(project.networks.get(id), "networks", id);
  for (const { firewall: id } of body.firewalls ?? []) found(project.firewalls.get(id), "firewalls", id);
  if (body.volumes?.[0] !== undefined) throw notFound("volumes", body.volumes[0]);
  const { placement_group: id } = body;
  if (id !== undefined) checkRoom(project, found(project.placementGroups.get(id), "placement group", id));
}

/** Throws if a server would start without any address. */
function checkReachable(body: CreateServer): void {
  const starts = body.start_after_create ?? true;
  const isPublic = (body.public_net?.enable_ipv4 ?? true) || (body.public_net?.enable_ipv6 ?? true);
  if (starts && !isPublic && (body.networks ?? []).length === 0) {
    throw invalidField("public_net", "A server without public network needs a private network to start.");
  }
}

function addMachine(project: Project, body: CreateServer, { type, image, location }: Choice): ServerRecord {
  const base = project.newResource(body.name, body.labels);
  const [ipv4, ipv6] = (["ipv4", "ipv6"] as const).map((version) => {
    if (!(body.public_net?.[`enable_${version}`] ?? true)) return null;
    const wanted = body.public_net?.[version];
    const assignee = { type: "server", id: base.id } as const;
    if (wanted !== undefined) return assignTo(project, wanted, { version, location: location.name, assignee });
    return createPrimaryIp(project, { type: version, location: location.name, auto_delete: true, assignee });
  });
  for (const { firewall } of body.firewalls ?? []) applyFirewall(project, firewall, base.id);
  return project.servers.put({
    ...base,
    status: "initializing",
    server_type: type.name,
    location: location.name,
    image: image.id,
    iso: null,
    ipv4: ipv4?.id ?? null,
    ipv6: ipv6?.id ?? null,
    private_net: [],
    placement_group: body.placement_group ?? null,
    rescue_enabled: false,
    backup_window: null,
    protection: { delete: false, rebuild: false },
    primary_disk_size: type.disk,
    user_data: body.user_data ?? "",
    backend: ipv4?.ip ?? project.addresses.nextServerIpv4(),
  });
}

function applyFirewall(project: Project, firewallId: number, server: number): void {
  const firewall = project.firewalls.get(firewallId);
  if (!firewall) return;
  const applied_to = [...firewall.applied_to, { type: "server" as const, server: { id: server } }];
  project.firewalls.put({ ...firewall, applied_to });
}

/** A deterministic root password. */
export function passwordFor(server: number): string {
  return createHash("sha256").update(`root/${server}`).digest("base64url").slice(0, 20);
}
