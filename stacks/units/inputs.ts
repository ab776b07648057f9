/**
 * Converts arguments of components into provider inputs. Both the components and the state records use these functions,
 * so that a state that matches its spec is also equal for the engine.
 */
import type { Input } from "@pulumi/pulumi";
import type { CertificateArgs } from "../components/certificate.ts";
import type {
  HealthCheckArgs,
  HttpArgs,
  ListenerArgs,
  LoadBalancerArgs,
  NetworkAttachmentArgs,
  TargetArgs,
} from "../components/load-balancer.ts";
import type { RouteArgs } from "../components/route.ts";
import { defined } from "./defined.ts";

type BalancerFields = Pick<
  LoadBalancerArgs,
  "name" | "type" | "location" | "networkZone" | "algorithm" | "labels" | "deleteProtection"
>;

/** Inputs of the load balancer itself. */
export function balancerInputs(args: BalancerFields) {
  const { name, type, location, networkZone, algorithm, labels, deleteProtection } = args;
  return {
    name,
    loadBalancerType: type,
    ...(algorithm !== undefined && { algorithm: { type: algorithm } }),
    ...defined({ location, networkZone, labels, deleteProtection }),
  };
}

/** Inputs of a network attachment. */
export function attachmentInputs({ publicInterface, ...place }: NetworkAttachmentArgs) {
  return { ...place, ...(publicInterface !== undefined && { enablePublicInterface: publicInterface }) };
}

/** Inputs of a listener. */
export function listenerInputs({ http, healthCheck, ...listener }: ListenerArgs) {
  return {
    protocol: listener.protocol,
    listenPort: listener.listenPort,
    destinationPort: listener.destinationPort,
    ...(listener.proxyProtocol !== undefined && { proxyprotocol: listener.proxyProtocol }),
    ...(http && { http: httpInputs(http) }),
    ...(healthCheck && { healthCheck: healthCheckInputs(healthCheck) }),
  };
}

function httpInputs({ cookieLifetimeSeconds, timeoutIdleSeconds, certificateIds, ...http }: HttpArgs) {
  return {
    ...http,
    ...defined({ cookieLifetime: cookieLifetimeSeconds, timeoutIdle: timeoutIdleSeconds }),
    ...(certificateIds && { certificates: [...certificateIds] }),
  };
}

function healthCheckInputs({ http, ...check }: HealthCheckArgs) {
  const { statusCodes, ...request } = http ?? {};
  return {
    protocol: check.protocol,
    port: check.port,
    interval: check.intervalSeconds,
    timeout: check.timeoutSeconds,
    retries: check.retries,
    ...(http && { http: { ...request, ...(statusCodes && { statusCodes: inOrder(statusCodes) }) } }),
  };
}

/** The API treats status codes as a set and returns them in an order of its own, but the provider compares lists. */
function inOrder<T>(codes: readonly T[]): T[] {
  return codes.every((code) => typeof code === "string") ? codes.toSorted() : [...codes];
}

/** Whether a target is reached over the network. Such a target is lost when the load balancer is detached. */
export function isPrivate({ usePrivateIp = false }: TargetArgs): boolean {
  return usePrivateIp;
}

/** Inputs of a target. */
export function targetInputs({ serverId, ip, usePrivateIp }: TargetArgs) {
  return ip === undefined ? { type: "server", ...defined({ serverId, usePrivateIp }) } : { type: "ip", ip };
}

/** Placeholder for private keys. The gateway, in the controller, replaces it in requests to the cloud. */
export const PRIVATE_KEY = "held by the controller";

type CertificateFields = Pick<CertificateArgs, "name" | "labels">;

/** Inputs of a managed certificate. */
export function managedInputs({ name, labels = {} }: CertificateFields, domains: readonly Input<string>[]) {
  return { name, labels, domainNames: [...domains] };
}

/** Inputs of an uploaded certificate. */
export function uploadedInputs(
  { name, labels = {} }: CertificateFields,
  { certificate, privateKey }: Required<Pick<CertificateArgs, "certificate" | "privateKey">>,
) {
  return { name, labels, certificate, privateKey };
}

/** Inputs of a route. */
export function routeInputs({ networkId, destination, gateway }: RouteArgs) {
  return { networkId, destination, gateway };
}
