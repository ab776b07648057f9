/**
 * Creates a load balancer in one request. The Pulumi provider creates it bare and then adds network, listeners and targets one
 * by one, each with an action to wait for, although the API accepts all of them at creation. The gateway therefore adds what
 * the run is about to request, and answers the later requests from the result.
 */
import { isPrivate } from "../../stacks/units/inputs.ts";
import type { ListenerSpec, LoadBalancerSpec, TargetSpec } from "../../stacks/units/spec.ts";
import type { LoadBalancer, LoadBalancerService, LoadBalancerTarget } from "./api.ts";
import type { ApiRequest } from "./exchange.ts";

/** The creation request with everything in the spec. What a creation cannot express is left for later requests. */
export function createWhole(request: ApiRequest, spec: LoadBalancerSpec): ApiRequest {
  const { network } = spec;
  // A creation cannot choose an IP or subnet. With either, the network is attached later, and private targets after it. A
  // load balancer that is to be private has no interface until then.
  const isAttached = network !== undefined && network.ip === undefined && network.subnet === undefined;
  const services = spec.listeners.filter(isComplete).map(serviceOf);
  const isPublic = network?.publicInterface ?? true;
  const targets = spec.targets.filter((target) => isAttached || (isPublic && !isPrivate(target))).map(targetOf);
  const body = {
    ...(JSON.parse(request.body ?? "{}") as object),
    ...(isAttached && { network: network.networkId }),
    ...(network && { public_interface: network.publicInterface }),
    ...(services.length > 0 && { services }),
    ...(targets.length > 0 && { targets }),
  };
  return { ...request, body: JSON.stringify(body) };
}

/** Statuses of a refused creation. Nothing was created, and with separate requests only the part at fault fails. */
export function isRefused(status: number): boolean {
  return status === 403 || status === 404 || status === 412 || status === 422;
}

/** What is left to do of a request, given the load balancer as it is: nothing, the request itself, or an update instead. */
export function remainder(request: ApiRequest, lb: LoadBalancer): ApiRequest | undefined {
  const body = JSON.parse(request.body ?? "{}") as Record<string, unknown>;
  switch (/\/actions\/(\w+)$/.exec(request.path)?.[1]) {
    case "attach_to_network":
      return lb.private_net.some((net) => includes(net, body)) ? undefined : request;
    case "add_target":
      return lb.targets.some((target) => includes(target, body)) ? undefined : request;
    case "add_service": {
      const service = lb.services.find(({ listen_port }) => listen_port === body.listen_port);
      if (!service) return request;
      return includes(service, body) ? undefined : { ...request, path: request.path.replace(/\w+$/, "update_service") };
    }
    default:
      return request;
  }
}

/** False while the listener's certificate, created in the same run, has no id yet. */
function isComplete({ protocol, http }: ListenerSpec): boolean {
  return protocol !== "https" || (http?.certificateIds.length ?? 0) > 0;
}

function serviceOf({ http, healthCheck, ...listener }: ListenerSpec): LoadBalancerService {
  const check = healthCheck.http;
  return {
    protocol: listener.protocol,
    listen_port: listener.listenPort,
    destination_port: listener.destinationPort,
    proxyprotocol: listener.proxyProtocol,
    ...(http && {
      http: {
        sticky_sessions: http.stickySessions,
        cookie_name: http.cookieName,
        cookie_lifetime: http.cookieLifetimeSeconds,
        timeout_idle: http.timeoutIdleSeconds,
        ...(listener.protocol === "https" && {
          certificates: http.certificateIds,
          redirect_http: http.redirectHttp,
        }),
      },
    }),
    health_check: {
      protocol: healthCheck.protocol,
      port: healthCheck.port,
      interval: healthCheck.intervalSeconds,
      timeout: healthCheck.timeoutSeconds,
      retries: healthCheck.retries,
      ...(check && {
        http: {
          path: check.path,
          tls: check.tls,
          status_codes: check.statusCodes,
          ...(check.domain !== "" && { domain: check.domain }),
          ...(check.response !== "" && { response: check.response }),
        },
      }),
    },
  };
}

function targetOf(target: TargetSpec): LoadBalancerTarget {
  return target.kind === "server"
    ? { type: "server", server: { id: target.serverId }, use_private_ip: target.usePrivateIp }
    : { type: "ip", ip: { ip: target.ip } };
}

/** True when `have` contains everything in `want`. Extra fields do not matter, and absent equals empty. */
function includes(have: unknown, want: unknown): boolean {
  if (Array.isArray(want)) {
    const list = have ?? [];
    return Array.isArray(list) && JSON.stringify(list.toSorted()) === JSON.stringify(want.toSorted());
  }
  if (typeof want !== "object" || want === null) return (have ?? false) === (want || false) || have === want;
  const entries = Object.entries(want);
  if (typeof have !== "object" || have === null) return entries.every(([, value]) => includes(undefined, value));
  return entries.every(([key, value]) => includes((have as Record<string, unknown>)[key], value));
}
