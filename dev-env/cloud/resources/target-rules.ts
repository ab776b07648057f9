/** Rules for the targets of load balancers. */
import { isIPv6 } from "node:net";
import { type ApiError, found, invalidField, limitExceeded, refuse } from "../api/errors.ts";
import { id } from "../api/fields.ts";
import { selectorOf } from "../api/labels.ts";
import { boolean, type Checked, object, oneOf, optional, string } from "../api/schema.ts";
import { cidr, contains, isPrivate, parseIp } from "../state/cidr.ts";
import type { Project } from "../state/project.ts";
import type { LoadBalancerRecord, ServerRecord, TargetRecord } from "../state/records.ts";
import { loadBalancerTypeNamed } from "./catalogue.ts";
import { privateIp } from "./load-balancer-view.ts";
import { isInPrefix64 } from "./primary-ip-rules.ts";
import { publicIpv4 } from "./server-view.ts";

const selectors = {
  type: oneOf("server", "label_selector", "ip"),
  server: optional(object({ id, ip: optional(string()) })),
  label_selector: optional(object({ selector: string({ min: 1, max: 1000 }) })),
  ip: optional(object({ ip: string() })),
};

/** Body of `remove_target`. */
export const removeTargetBody = object(selectors);
/** Body of `add_target`, also used for new load balancers. */
export const targetBody = object({ ...selectors, use_private_ip: optional(boolean) });

type TargetRequest = Checked<typeof targetBody>;

/** The target in a request. */
type Wanted =
  | { readonly type: "server"; readonly id: number; readonly ip: string | undefined; readonly isPrivate: boolean }
  | { readonly type: "label_selector"; readonly selector: string; readonly isPrivate: boolean }
  | { readonly type: "ip"; readonly ip: string };

function wantedOf({ type, server, label_selector, ip, use_private_ip: isPrivate = false }: TargetRequest): Wanted {
  if (type === "server" && server) return { type, id: server.id, ip: server.ip, isPrivate };
  if (type === "label_selector" && label_selector) return { type, selector: label_selector.selector, isPrivate };
  if (type === "ip" && ip) return { type, ip: ip.ip };
  throw invalidField(type, "Missing data for required field.");
}

/** Compares server ids, or the exact texts of selectors and IPs. */
function matches(target: TargetRecord, wanted: Wanted): boolean {
  switch (wanted.type) {
    case "server":
      return target.type === "server" && target.server.id === wanted.id;
    case "label_selector":
      return target.type === "label_selector" && target.label_selector.selector === wanted.selector;
    case "ip":
      return target.type === "ip" && target.ip.ip === wanted.ip;
  }
}

/** Adds a target that the load balancer can reach. The order of the checks is that of the API reference. */
export function addTarget(project: Project, lb: LoadBalancerRecord, body: TargetRequest): LoadBalancerRecord {
  const wanted = wantedOf(body);
  if (lb.targets.some((target) => matches(target, wanted))) {
    throw refuse("target_already_defined", "target already defined");
  }
  const limit = loadBalancerTypeNamed(lb.load_balancer_type).max_targets;
  if (lb.targets.length >= limit)
    throw limitExceeded("load_balancer_targets", `cannot have more than ${limit} targets`);
  const target = resolveTarget(project, lb, wanted);
  return { ...lb, targets: [...lb.targets, target] };
}

function resolveTarget(project: Project, lb: LoadBalancerRecord, wanted: Wanted): TargetRecord {
  switch (wanted.type) {
    case "server":
      return serverTarget(project, lb, wanted);
    case "label_selector":
      selectorOf(wanted.selector, "label_selector.selector");
      checkInterface(project, lb, wanted.isPrivate);
      return { type: wanted.type, label_selector: { selector: wanted.selector }, use_private_ip: wanted.isPrivate };
    case "ip":
      checkIpTarget(project, lb, wanted.ip);
      return { type: wanted.type, ip: { ip: wanted.ip } };
  }
}

/** Private targets require a network attachment, public targets the public interface. */
function checkInterface(project: Project, lb: LoadBalancerRecord, isPrivateTarget: boolean): void {
  const isAttached = lb.private_net.length > 0 && project.clock.now() >= lb.attachedAt;
  if (isPrivateTarget && !isAttached) throw notInNetwork();
  if (!isPrivateTarget && !lb.public_net.enabled) {
    throw refuse("load_balancer_public_interface_disabled", "load balancer public interface is disabled");
  }
}

/** The error for operations that require a network attachment. */
export function notInNetwork(): ApiError {
  return refuse("load_balancer_not_attached_to_network", "load balancer is not attached to a network");
}

type WantedServer = Extract<Wanted, { type: "server" }>;

function serverTarget(project: Project, lb: LoadBalancerRecord, wanted: WantedServer): TargetRecord {
  const server = found(project.servers.get(wanted.id), "server", wanted.id);
  checkInterface(project, lb, wanted.isPrivate);
  const ip = wanted.isPrivate ? privateAddress(lb, server, wanted) : publicAddress(project, server, wanted);
  return { type: "server", server: { id: server.id, ip }, use_private_ip: wanted.isPrivate };
}

function privateAddress(lb: LoadBalancerRecord, server: ServerRecord, wanted: WantedServer): string {
  if (wanted.ip !== undefined) throw invalidField("server.ip", "Only valid for public targets.");
  const ip = privateIp(lb, server);
  if (ip !== undefined) return ip;
  throw refuse("resolve_cloud_private_targets_error", "server is not attached to the load balancer's network");
}

/** The requested address, if it belongs to the server, or else its primary IPv4. */
function publicAddress(project: Project, server: ServerRecord, wanted: WantedServer): string {
  const ipv4 = publicIpv4(project, server);
  const ipv6 = server.ipv6 === null ? undefined : project.primaryIps.get(server.ipv6)?.ip;
  const ip = wanted.ip ?? ipv4;
  if (ip === undefined) throw refuse("resolve_cloud_public_targets_error", "server has no public IPv4 address");
  if (ip === ipv4 || (ipv6 !== undefined && isInPrefix64(ip, ipv6))) return ip;
  throw refuse("ip_not_assigned_to_server", `IP '${ip}' is not assigned to the server`);
}

function checkIpTarget(project: Project, lb: LoadBalancerRecord, ip: string): void {
  const address = parseIp(ip);
  if (address === undefined && !isIPv6(ip)) throw invalidField("ip.ip", "Must be an IP address.");
  if (address !== undefined && isPrivate(address)) checkVswitchIp(project, lb, address);
  else checkPublicIp(project, lb, ip);
}

function checkPublicIp(project: Project, lb: LoadBalancerRecord, ip: string): void {
  checkInterface(project, lb, false);
  const { primaryIps, loadBalancers } = project;
  if (primaryIps.idsWith(`ip/${ip}`).size === 0 && loadBalancers.idsWith(`public/${ip}`).size === 0) return;
  const message = "cannot add IP to load balancer: IP belongs to Hetzner Cloud resource";
  throw refuse("cloud_resource_ip_not_allowed", message);
}

function checkVswitchIp(project: Project, lb: LoadBalancerRecord, address: number): void {
  const network = project.networks.get(lb.private_net[0]?.network ?? 0);
  if (!network) throw notInNetwork();
  const ranges = network.subnets.filter((subnet) => subnet.type === "vswitch").map((subnet) => cidr(subnet.ip_range));
  if (ranges.length === 0) {
    throw refuse("network_has_no_vswitch_subnet", "the attached network has no vswitch subnet");
  }
  if (!ranges.some((range) => contains(range, address))) {
    throw refuse("ip_not_in_vswitch_subnet", "the IP is not in the vswitch subnet of the attached network");
  }
}

/** Removes a target by its server, selector or IP. */
export function removeTarget(
  _project: Project,
  lb: LoadBalancerRecord,
  body: Checked<typeof removeTargetBody>,
): LoadBalancerRecord {
  const wanted = wantedOf({ ...body, use_private_ip: undefined });
  const targets = lb.targets.filter((target) => !matches(target, wanted));
  if (targets.length === lb.targets.length) {
    throw refuse("load_balancer_target_not_found", "load balancer target not found");
  }
  return { ...lb, targets };
}
