/**
 * A new balancer in one request. The provider makes it bare and adds network, listeners and targets one by one, each
 * with an action to wait for; the API's own request to create one takes them all. So the gateway sends what the run
 * is about to ask for along with the creation, and what is asked for later is answered from what is then there.
 */
import type { ListenerSpec, LoadBalancerSpec, TargetSpec } from "../../stacks/units/spec.ts";
import type { LoadBalancer, LoadBalancerService, LoadBalancerTarget } from "./api.ts";
import type { ApiRequest } from "./exchange.ts";

/** The request with everything the spec wants on the new balancer. What a creation cannot say is left for later. */
export function createWhole(request: ApiRequest, spec: LoadBalancerSpec): ApiRequest {
  const { network } = spec;
  // A creation takes no place in the network: whoever wants a certain one is attached afterwards, private targets with it.
  const isAttached = network !== undefined && network.ip === undefined && network.subnet === undefined;
  const services = spec.listeners.filter(isComplete).map(serviceOf);
  const targets = spec.targets.filter((target) => isAttached || !isPrivate(target)).map(targetOf);
  const body = {
    ...(JSON.parse(request.body ?? "{}") as object),
    ...(isAttached && { network: network.networkId, public_interface: network.publicInterface }),
    ...(services.length > 0 && { services }),
    ...(targets.length > 0 && { targets }),
  };
  return { ...request, body: JSON.stringify(body) };
}

/** Statuses that say: not in this form, and nothing was made. Asked for one by one, the part at fault fails alone. */
export function isRefused(status: number): boolean {
  return status === 403 || status === 404 || status === 412 || status === 422;
}

/** What is left to do of a request about a balancer that is there: nothing, the request itself, or a smaller one. */
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

/** A certificate that is made in the same run has no id yet. */
function isComplete({ protocol, http }: ListenerSpec): boolean {
  return protocol !== "https" || (http?.certificateIds.length ?? 0) > 0;
}

function isPrivate(target: TargetSpec): boolean {
  return target.kind === "server" && target.usePrivateIp;
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

/** True when everything wanted is there; what is not said does not matter, and an absent value is as good as an empty one. */
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
