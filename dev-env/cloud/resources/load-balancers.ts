/** Routes of `/load_balancers`. */
import { found, isProtected, refuse } from "../api/errors.ts";
import { id, idOrName, pick, port } from "../api/fields.ts";
import { commonRules } from "../api/listing.ts";
import {
  actionReadRoutes,
  actionRoute,
  changed,
  noBody,
  readRoutes,
  renameRoute,
  rowIn,
  type StoredKind,
} from "../api/resource.ts";
import type { Answer, Call, Route } from "../api/route.ts";
import { boolean, type Check, nullable, object, optional, parseBody, string } from "../api/schema.ts";
import type { ResourceRef } from "../state/actions.ts";
import { defaultDnsPtr } from "../state/addresses.ts";
import type { Project } from "../state/project.ts";
import type { LoadBalancerRecord } from "../state/records.ts";
import { catalogue } from "./catalogue.ts";
import { removeBalancer } from "./effects.ts";
import {
  addListener,
  certificatesOf,
  deleteListener,
  listenerBody,
  updateListener,
  updateListenerBody,
} from "./listener-rules.ts";
import {
  algorithmBody,
  attachBalancer,
  attachBalancerBody,
  createBalancer,
  createBalancerBody,
} from "./load-balancer-create.ts";
import { type LoadBalancer, viewLoadBalancer } from "./load-balancer-view.ts";
import { detachBalancer } from "./network-members.ts";
import { notAttached } from "./server-network.ts";
import { addTarget, notInNetwork, removeTarget, removeTargetBody, targetBody } from "./target-rules.ts";

/** Load balancers, for the generic routes. */
export const loadBalancerKind: StoredKind<LoadBalancerRecord, LoadBalancer> = {
  singular: "load_balancer",
  rows: (project) => project.loadBalancers,
  view: viewLoadBalancer,
  rules: commonRules(),
};

const balancerRef = (lb: { readonly id: number }): ResourceRef => ({ type: "load_balancer", id: lb.id });

type Rule<B> = (project: Project, lb: LoadBalancerRecord, body: B) => LoadBalancerRecord;

type Also<B> = (body: B) => readonly ResourceRef[];

/** An action that replaces the load balancer with the result of a rule. `also` has its further resources. */
function change<B>(name: string, check: Check<B>, rule: Rule<B>, also: Also<B> = () => []): Route {
  const command = name === "change_type" ? "change_load_balancer_type" : name;
  const run = (project: Project, lb: LoadBalancerRecord, body: B) => {
    project.loadBalancers.put(rule(project, lb, body));
    return { command, resources: [balancerRef(lb), ...also(body)] };
  };
  return actionRoute(loadBalancerKind, { name, body: check, run });
}

const networkOf: Also<{ readonly network: number }> = ({ network }) => [{ type: "network", id: network }];

function detach(_project: Project, lb: LoadBalancerRecord, body: { readonly network: number }): LoadBalancerRecord {
  if (lb.private_net[0]?.network !== body.network) throw notAttached(body.network);
  return detachBalancer(lb);
}

function changeType(_project: Project, lb: LoadBalancerRecord, body: { load_balancer_type: string }) {
  const wanted = body.load_balancer_type;
  const type = found(pick(catalogue.loadBalancerTypes, wanted), "load balancer type", wanted);
  const fits =
    lb.services.length <= type.max_services &&
    lb.targets.length <= type.max_targets &&
    certificatesOf(lb).size <= type.max_assigned_certificates;
  if (!fits) throw refuse("invalid_load_balancer_type", `the load balancer does not fit type ${type.name}`);
  return { ...lb, load_balancer_type: type.name };
}

function changeDnsPtr(_project: Project, lb: LoadBalancerRecord, body: { ip: string; dns_ptr: string | null }) {
  const version = (["ipv4", "ipv6"] as const).find((candidate) => lb.public_net[candidate].ip === body.ip);
  if (!version) throw refuse("not_found", `IP '${body.ip}' not found`);
  const dns_ptr = body.dns_ptr ?? (version === "ipv4" ? defaultDnsPtr(body.ip) : null);
  return { ...lb, public_net: { ...lb.public_net, [version]: { ...lb.public_net[version], dns_ptr } } };
}

function setPublicInterface(enabled: boolean): Rule<unknown> {
  return (_project, lb) => {
    if (!enabled) checkPrivateOnly(lb);
    return { ...lb, public_net: { ...lb.public_net, enabled } };
  };
}

function checkPrivateOnly(lb: LoadBalancerRecord): void {
  if (lb.private_net.length === 0) throw notInNetwork();
  if (lb.targets.some((target) => target.type !== "ip" && !target.use_private_ip)) {
    throw refuse("targets_without_use_private_ip", "the load balancer has targets that use their public IP");
  }
}

function create({ project, ...call }: Call): Answer {
  const balancer = createBalancer(project, parseBody(createBalancerBody, call.body));
  const action = { command: "create_load_balancer", resources: [balancerRef(balancer)] };
  return changed(project, action, { load_balancer: viewLoadBalancer(project, balancer) });
}

/** Returns 201 with an action, as the API does since October 2026. */
function remove(call: Call): Answer {
  const { project } = call;
  const balancer = rowIn(loadBalancerKind, call);
  if (balancer.protection.delete) throw isProtected("load balancer");
  const lingers = project.behaviour.lingeringDeletes;
  if (!lingers) removeBalancer(project, balancer);
  return changed(project, {
    command: "delete_load_balancer",
    resources: [balancerRef(balancer)],
    ...(lingers && { effect: { kind: "remove-load-balancer", loadBalancer: balancer.id } }),
  });
}

const dnsPtrBody = object({ ip: string(), dns_ptr: nullable(string({ max: 253 })) });

/** All of `/load_balancers`, except metrics. */
export const loadBalancerRoutes: readonly Route[] = [
  ...readRoutes(loadBalancerKind),
  ...actionReadRoutes(loadBalancerKind),
  { method: "POST", path: "/load_balancers", handle: create },
  renameRoute(loadBalancerKind),
  { method: "DELETE", path: "/load_balancers/{}", handle: remove },
  change("add_service", listenerBody, addListener),
  change("update_service", updateListenerBody, updateListener),
  change("delete_service", object({ listen_port: port }), (_project, lb, body) => deleteListener(lb, body.listen_port)),
  change("add_target", targetBody, addTarget),
  change("remove_target", removeTargetBody, removeTarget),
  change("attach_to_network", attachBalancerBody, attachBalancer, networkOf),
  change("detach_from_network", object({ network: id }), detach, networkOf),
  change("change_algorithm", algorithmBody, (_project, lb, algorithm) => ({ ...lb, algorithm })),
  change("change_type", object({ load_balancer_type: idOrName }), changeType),
  change("change_dns_ptr", dnsPtrBody, changeDnsPtr),
  change("enable_public_interface", noBody, setPublicInterface(true)),
  change("disable_public_interface", noBody, setPublicInterface(false)),
  change("change_protection", object({ delete: optional(boolean) }), (_project, lb, body) => ({
    ...lb,
    protection: { delete: body.delete ?? lb.protection.delete },
  })),
];
