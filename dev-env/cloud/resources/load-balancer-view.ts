/** Load balancers in the shape of the API. */
import type { Project } from "../state/project.ts";
import type { LoadBalancerRecord, ServerRecord, TargetRecord } from "../state/records.ts";
import { loadBalancerTypeNamed, locationNamed } from "./catalogue.ts";
import { publicIpv4 } from "./server-view.ts";

/** A load balancer in the shape of the API. */
export type LoadBalancer = ReturnType<typeof viewLoadBalancer>;

const TRAFFIC_INCLUDED = 20 * 1024 ** 4;

/** Embeds type and location, resolves selector targets and adds the health of all targets. */
export function viewLoadBalancer(project: Project, balancer: LoadBalancerRecord) {
  const { attachedAt, ...rest } = balancer;
  return {
    ...rest,
    location: locationNamed(balancer.location),
    load_balancer_type: loadBalancerTypeNamed(balancer.load_balancer_type),
    targets: balancer.targets.map((target) => viewTarget(project, balancer, target)),
    included_traffic: TRAFFIC_INCLUDED,
    outgoing_traffic: 0,
    ingoing_traffic: 0,
  };
}

function viewTarget(project: Project, balancer: LoadBalancerRecord, target: TargetRecord) {
  switch (target.type) {
    case "server":
      return viewServerTarget(project, balancer, target);
    case "ip":
      return { ...target, health_status: healthOf(project, balancer, target.ip.ip) };
    case "label_selector":
      return {
        ...target,
        targets: resolveSelector(project, balancer, target).map((resolved) =>
          viewServerTarget(project, balancer, resolved),
        ),
      };
  }
}

type ServerTarget = Extract<TargetRecord, { type: "server" }>;
type SelectorTarget = Extract<TargetRecord, { type: "label_selector" }>;

function viewServerTarget(project: Project, balancer: LoadBalancerRecord, target: ServerTarget) {
  const server = project.servers.get(target.server.id);
  const ip = (target.use_private_ip && server && privateIp(balancer, server)) || target.server.ip;
  const { type, use_private_ip } = target;
  const health_status = healthOf(project, balancer, target.server.id);
  return { type, server: { id: target.server.id, ip }, use_private_ip, health_status };
}

/** The servers of a selector target. Servers without a usable address are skipped. */
export function resolveSelector(
  project: Project,
  balancer: LoadBalancerRecord,
  { label_selector, use_private_ip }: SelectorTarget,
): readonly ServerTarget[] {
  return project.serversMatching(label_selector.selector).flatMap((server) => {
    const ip = use_private_ip ? privateIp(balancer, server) : publicIpv4(project, server);
    return ip === undefined ? [] : [{ type: "server" as const, server: { id: server.id, ip }, use_private_ip }];
  });
}

/** The server's address in the load balancer's network. */
export function privateIp(balancer: LoadBalancerRecord, server: ServerRecord): string | undefined {
  const network = balancer.private_net[0]?.network;
  return server.private_net.find((attachment) => attachment.network === network)?.ip;
}

function healthOf(project: Project, balancer: LoadBalancerRecord, target: number | string) {
  return balancer.services.map(({ listen_port }) => ({
    listen_port,
    ...project.health.get({ loadBalancer: balancer.id, listenPort: listen_port, target }),
  }));
}
