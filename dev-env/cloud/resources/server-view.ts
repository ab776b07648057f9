/** Servers in the shape of the API. */
import { selectorKeysFor, selectorOf } from "../api/labels.ts";
import type { Project } from "../state/project.ts";
import type { FirewallScope, PrimaryIpRecord, ServerRecord, TargetRecord } from "../state/records.ts";
import type { Row, Table } from "../state/table.ts";
import { catalogue, locationNamed, serverTypeNamed } from "./catalogue.ts";
import { viewPlacementGroup } from "./placement-groups.ts";

/** A server in the shape of the API. */
export type Server = ReturnType<typeof viewServer>;

const TRAFFIC_INCLUDED = 20 * 1024 ** 4;

/** Embeds type, location, image and group, and adds addresses, firewalls, load balancers and the lock. */
export function viewServer(project: Project, server: ServerRecord) {
  const { ipv4, ipv6, user_data, backend, placement_group, image, iso, ...rest } = server;
  const group = placement_group === null ? undefined : project.placementGroups.get(placement_group);
  return {
    ...rest,
    public_net: {
      ipv4: viewIpv4(primaryIp(project, ipv4)),
      ipv6: viewIpv6(primaryIp(project, ipv6)),
      floating_ips: [],
      firewalls: firewallsOf(project, server).map((id) => ({ id, status: "applied" as const })),
    },
    server_type: serverTypeNamed(server.server_type),
    location: locationNamed(server.location),
    image: catalogue.images.find((candidate) => candidate.id === image) ?? null,
    iso: catalogue.isos.find((candidate) => candidate.id === iso) ?? null,
    placement_group: group ? viewPlacementGroup(project, group) : null,
    locked: project.actions.isBusy({ type: "server", id: server.id }),
    included_traffic: TRAFFIC_INCLUDED,
    outgoing_traffic: 0,
    ingoing_traffic: 0,
    volumes: [],
    load_balancers: idsReferringTo(project.loadBalancers, server, ({ targets }) => targets),
  };
}

/** The public IPv4 address, if the server has one. */
export function publicIpv4(project: Project, server: ServerRecord): string | undefined {
  return primaryIp(project, server.ipv4)?.ip;
}

function primaryIp(project: Project, id: number | null): PrimaryIpRecord | undefined {
  return id === null ? undefined : project.primaryIps.get(id);
}

function viewIpv4(ip: PrimaryIpRecord | undefined) {
  if (!ip) return null;
  return { id: ip.id, ip: ip.ip, blocked: ip.blocked, dns_ptr: ip.dns_ptr[0]?.dns_ptr ?? "" };
}

function viewIpv6(ip: PrimaryIpRecord | undefined) {
  return ip ? { id: ip.id, ip: ip.ip, blocked: ip.blocked, dns_ptr: ip.dns_ptr } : null;
}

/** Firewalls that apply to the server directly or by label. */
export function firewallsOf(project: Project, server: ServerRecord): readonly number[] {
  return idsReferringTo(project.firewalls, server, ({ applied_to }) => applied_to);
}

/** Ids of the rows that contain the server, or a selector that matches it, in order. */
function idsReferringTo<R extends Row>(
  table: Table<R>,
  server: ServerRecord,
  scopesOf: (row: R) => readonly (TargetRecord | FirewallScope)[],
): readonly number[] {
  const isSelected = (row: R) =>
    scopesOf(row).some(
      (scope) => scope.type === "label_selector" && selectorOf(scope.label_selector.selector)(server.labels),
    );
  const byLabel = selectorKeysFor(server.labels).flatMap((key) => table.rowsWith(key).filter(isSelected));
  const ids = new Set([...table.idsWith(`server/${server.id}`), ...byLabel.map(({ id }) => id)]);
  return [...ids].sort((a, b) => a - b);
}
