/** A listed load balancer → its state, comparable with a spec. */

import { defined } from "../../../stacks/units/defined.ts";
import type {
  HealthCheckHttp,
  HttpOptions,
  ListenerSpec,
  LoadBalancerState,
  TargetSpec,
} from "../../../stacks/units/spec.ts";
import { isInRange } from "../../formats/ranges.ts";
import type { LoadBalancer, LoadBalancerService, LoadBalancerTarget, Network } from "../../hcloud/api.ts";

/** The state of a listed load balancer. The subnet of its private address is only known with the network. */
export function balancerState(lb: LoadBalancer, network?: Network): LoadBalancerState {
  const [attachment] = lb.private_net;
  const { ipv4, ipv6 } = lb.public_net;
  const rdns = {
    ...(ipv4.ip && ipv4.dns_ptr && { ipv4: ipv4.dns_ptr.toLowerCase() }),
    ...(ipv6.ip && ipv6.dns_ptr && { ipv6: ipv6.dns_ptr.toLowerCase() }),
  };
  return {
    kind: "load-balancer",
    id: lb.id,
    name: lb.name,
    type: lb.load_balancer_type.name,
    location: lb.location.name,
    networkZone: lb.location.network_zone,
    algorithm: lb.algorithm.type,
    labels: lb.labels,
    deleteProtection: lb.protection.delete,
    publicInterface: lb.public_net.enabled,
    ...(ipv4.ip && { ipv4: ipv4.ip }),
    ...(ipv6.ip && { ipv6: ipv6.ip }),
    ...(attachment && { network: attachmentState(attachment, network) }),
    ...(Object.keys(rdns).length > 0 && { rdns }),
    listeners: lb.services.map(listenerState),
    // Label selectors are never ours.
    targets: lb.targets.map(targetState).filter((target) => target !== undefined),
  };
}

function attachmentState({ network: networkId, ip }: LoadBalancer["private_net"][number], network?: Network) {
  const subnets = network?.id === networkId ? network.subnets : [];
  const subnet = subnets.find(({ ip_range }) => isInRange(ip, ip_range))?.ip_range;
  return { networkId, ip, ...defined({ subnet }) };
}

function listenerState({ http, health_check, ...service }: LoadBalancerService): ListenerSpec {
  return {
    listenPort: service.listen_port,
    destinationPort: service.destination_port,
    protocol: service.protocol,
    proxyProtocol: service.proxyprotocol,
    ...(http && service.protocol !== "tcp" && { http: httpState(http) }),
    healthCheck: {
      protocol: health_check.protocol,
      port: health_check.port,
      intervalSeconds: health_check.interval,
      timeoutSeconds: health_check.timeout,
      retries: health_check.retries,
      ...(health_check.http && health_check.protocol === "http" && { http: healthHttpState(health_check.http) }),
    },
  };
}

function httpState(http: NonNullable<LoadBalancerService["http"]>): HttpOptions {
  return {
    stickySessions: http.sticky_sessions,
    cookieName: http.cookie_name,
    cookieLifetimeSeconds: http.cookie_lifetime,
    timeoutIdleSeconds: http.timeout_idle ?? 50,
    redirectHttp: http.redirect_http ?? false,
    certificateIds: http.certificates ?? [],
  };
}

function healthHttpState(http: NonNullable<LoadBalancerService["health_check"]["http"]>): HealthCheckHttp {
  return {
    domain: http.domain ?? "",
    path: http.path,
    response: http.response ?? "",
    tls: http.tls ?? false,
    statusCodes: http.status_codes ?? [],
  };
}

function targetState(target: LoadBalancerTarget): TargetSpec | undefined {
  switch (target.type) {
    case "server":
      return { kind: "server", serverId: target.server.id, usePrivateIp: target.use_private_ip };
    case "ip":
      return { kind: "ip", ip: target.ip.ip };
    default:
      return undefined;
  }
}
