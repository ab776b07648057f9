import { compileSelector } from "../api/labels.ts";
import type { Project } from "../state/project.ts";
import type { PrimaryIpRecord, ServerRecord } from "../state/records.ts";
import { locationNamed, serverTypeNamed } from "./catalogue.ts";
import { viewPlacementGroup } from "./placement-groups.ts";

/** A server as the API shows it. */
export type Server = ReturnType<typeof viewServer>;

const TRAFFIC_INCLUDED = 20 * 1024 ** 4;

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
    image: project.catalogue.images.find((candidate) => candidate.id === image) ?? null,
    iso: project.catalogue.isos.find((candidate) => candidate.id === iso) ?? null,
    placement_group: group ? viewPlacementGroup(project, group) : null,
    locked: project.actions.isBusy({ type: "server", id: server.id }),
    included_traffic: TRAFFIC_INCLUDED,
    outgoing_traffic: 0,
    ingoing_traffic: 0,
    volumes: [],
    load_balancers: balancersOf(project, server),
  };
}

/** The address a public target of this server uses, if it has one. */
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

/** Firewalls that reach the server directly or by label. */
export function firewallsOf(project: Project, server: ServerRecord): readonly number[] {
  const byLabel = project.firewalls
    .rowsWith("label_selector")
    .filter((firewall) =>
      firewall.applied_to.some(
        (scope) => scope.type === "label_selector" && selects(scope.label_selector.selector, server),
      ),
    );
  return merged(project.firewalls.idsWith(`server/${server.id}`), byLabel);
}

/** Balancers that target the server directly or by label. */
function balancersOf(project: Project, server: ServerRecord): readonly number[] {
  const byLabel = project.loadBalancers
    .rowsWith("label_selector")
    .filter((balancer) =>
      balancer.targets.some(
        (target) => target.type === "label_selector" && selects(target.label_selector.selector, server),
      ),
    );
  return merged(project.loadBalancers.idsWith(`server/${server.id}`), byLabel);
}

function selects(selector: string, server: ServerRecord): boolean {
  return compileSelector(selector)?.(server.labels) ?? false;
}

function merged(direct: ReadonlySet<number>, byLabel: readonly { readonly id: number }[]): readonly number[] {
  return [...new Set([...direct, ...byLabel.map(({ id }) => id)])].sort((a, b) => a - b);
}
