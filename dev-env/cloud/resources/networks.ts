/** Routes of `/networks`. */
import { isProtected } from "../api/errors.ts";
import { cidrRange, name } from "../api/fields.ts";
import { labels } from "../api/labels.ts";
import { commonRules, type ListRules, textFilter } from "../api/listing.ts";
import {
  actionReadRoutes,
  actionRoute,
  claimName,
  deleteRoute as deletion,
  one,
  pageAnswer,
  readRoutes,
  renaming,
  rowIn,
  type StoredKind,
  updateRoute,
} from "../api/resource.ts";
import type { Answer, Call, Route } from "../api/route.ts";
import { array, boolean, type Check, type Checked, object, optional, parseBody } from "../api/schema.ts";
import { cidr, contains, parseIp, renderCidr } from "../state/cidr.ts";
import type { Project } from "../state/project.ts";
import type { NetworkRecord } from "../state/records.ts";
import { balancersIn, detachBalancer, detachServer, memberIps, serversIn } from "./network-members.ts";
import {
  addRoute,
  addSubnet,
  changeIpRange,
  checkNetworkRange,
  deleteRoute,
  deleteSubnet,
  routeBody,
  subnetBody,
} from "./network-rules.ts";

/** Adds the ids of the members. */
export function viewNetwork(project: Project, network: NetworkRecord) {
  return {
    ...network,
    servers: serversIn(project, network.id).map((server) => server.id),
    load_balancers: balancersIn(project, network.id).map((balancer) => balancer.id),
  };
}

/** Networks, for the generic routes. */
export const networkKind: StoredKind<NetworkRecord, ReturnType<typeof viewNetwork>> = {
  singular: "network",
  rows: (project) => project.networks,
  view: viewNetwork,
  rules: commonRules(),
};

/** Body of `POST /networks`. */
export const createNetworkBody = object({
  name,
  ip_range: cidrRange,
  labels: optional(labels),
  subnets: optional(array(subnetBody)),
  routes: optional(array(routeBody)),
  expose_routes_to_vswitch: optional(boolean),
});

const updateBody = object({
  ...renaming,
  expose_routes_to_vswitch: optional(boolean),
});

const rangeBody = object({ ip_range: cidrRange });
const protectionBody = object({ delete: optional(boolean) });

/** Creates a network with its subnets and routes, without an action. */
export function createNetwork(project: Project, body: Checked<typeof createNetworkBody>): NetworkRecord {
  claimName(project.networks, body.name);
  checkNetworkRange(body.ip_range);
  const empty: NetworkRecord = {
    ...project.newResource(body.name, body.labels),
    ip_range: renderCidr(body.ip_range),
    subnets: [],
    routes: [],
    protection: { delete: false },
    expose_routes_to_vswitch: body.expose_routes_to_vswitch ?? false,
  };
  const withSubnets = (body.subnets ?? []).reduce(addSubnet, empty);
  return project.networks.put((body.routes ?? []).reduce(addRoute, withSubnets));
}

function removeNetwork(project: Project, network: NetworkRecord): void {
  if (network.protection.delete) throw isProtected("network");
  for (const server of serversIn(project, network.id)) detachServer(project, server, network.id);
  for (const balancer of balancersIn(project, network.id)) project.loadBalancers.put(detachBalancer(balancer));
  project.networks.delete(network.id);
}

/** An action that replaces the network with the result of a rule. */
function change<B>(
  command: string,
  check: Check<B>,
  rule: (network: NetworkRecord, body: B, project: Project) => NetworkRecord,
): Route {
  return actionRoute(networkKind, {
    name: command,
    body: check,
    run: (project, network, body) => {
      project.networks.put(rule(network, body, project));
      return { command, resources: [{ id: network.id, type: "network" }] };
    },
  });
}

type Member = ReturnType<typeof membersOf>[number];

function membersOf(project: Project, network: NetworkRecord) {
  const subnetOf = (ip: string) =>
    network.subnets.find((subnet) => contains(cidr(subnet.ip_range), parseIp(ip) ?? -1))?.ip_range ?? null;
  const servers = serversIn(project, network.id).flatMap((server) =>
    server.private_net
      .filter((attachment) => attachment.network === network.id)
      .map(({ ip, alias_ips }) => ({ type: "server", id: server.id, ip, alias_ips })),
  );
  const balancers = balancersIn(project, network.id).flatMap((balancer) =>
    balancer.private_net.map(({ ip }) => ({ type: "load_balancer", id: balancer.id, ip, alias_ips: [] })),
  );
  return [...servers, ...balancers].map((member) => ({ ...member, status: "ok", subnet: subnetOf(member.ip) }));
}

const memberRules: ListRules<Member> = {
  sort: { id: (member) => member.id },
  filters: {
    type: textFilter((member) => member.type),
    subnet: textFilter((member) => member.subnet),
    status: textFilter((member) => member.status),
  },
};

function listMembers(call: Call): Answer {
  const network = rowIn(networkKind, call);
  const rows = membersOf(call.project, network);
  return pageAnswer(call, { plural: "members", rows, rules: memberRules, view: (member) => member });
}

/** All of `/networks`. */
export const networkRoutes: readonly Route[] = [
  ...readRoutes(networkKind),
  ...actionReadRoutes(networkKind),
  {
    method: "POST",
    path: "/networks",
    handle: ({ project, body }) => {
      const network = createNetwork(project, parseBody(createNetworkBody, body));
      return { ...one(networkKind, project, network), status: 201 };
    },
  },
  updateRoute(networkKind, updateBody),
  deletion(networkKind, removeNetwork),
  { method: "GET", path: "/networks/{}/members", handle: listMembers },
  change("add_subnet", subnetBody, addSubnet),
  change("delete_subnet", rangeBody, (network, body, project) =>
    deleteSubnet(network, body.ip_range, memberIps(project, network.id)),
  ),
  change("add_route", routeBody, addRoute),
  change("delete_route", routeBody, deleteRoute),
  change("change_ip_range", rangeBody, (network, body) => changeIpRange(network, body.ip_range)),
  change("change_protection", protectionBody, (network, body) => ({
    ...network,
    protection: { delete: body.delete ?? network.protection.delete },
  })),
];
