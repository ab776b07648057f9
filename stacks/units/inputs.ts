/**
 * Converts parts of a spec or state into provider inputs. Both the program and the checkpoint use these functions, so
 * that a state that matches its spec is also equal for the engine.
 */
import type {
  CertificateSpec,
  ListenerSpec,
  LoadBalancerSpec,
  NetworkAttachment,
  RouteSpec,
  TargetSpec,
} from "./spec.ts";

type BalancerFields = Pick<LoadBalancerSpec, "name" | "type" | "algorithm" | "labels" | "deleteProtection">;

/** Inputs of the load balancer itself. */
export function balancerInputs(spec: BalancerFields) {
  return {
    name: spec.name,
    loadBalancerType: spec.type,
    algorithm: { type: spec.algorithm },
    labels: { ...spec.labels },
    deleteProtection: spec.deleteProtection,
  };
}

/** Inputs of a network attachment. The provider accepts a network or a subnet, not both. */
export function attachmentInputs({ networkId, subnet, ip, publicInterface }: NetworkAttachment) {
  return {
    ...(subnet === undefined ? { networkId } : { subnetId: `${networkId}-${subnet}` }),
    enablePublicInterface: publicInterface,
    ...(ip !== undefined && { ip }),
  };
}

/** Inputs of a listener. */
export function listenerInputs({ http, healthCheck, ...listener }: ListenerSpec) {
  return {
    protocol: listener.protocol,
    listenPort: listener.listenPort,
    destinationPort: listener.destinationPort,
    proxyprotocol: listener.proxyProtocol,
    ...(http && {
      http: {
        stickySessions: http.stickySessions,
        cookieName: http.cookieName,
        cookieLifetime: http.cookieLifetimeSeconds,
        timeoutIdle: http.timeoutIdleSeconds,
        redirectHttp: http.redirectHttp,
        certificates: [...http.certificateIds],
      },
    }),
    healthCheck: {
      protocol: healthCheck.protocol,
      port: healthCheck.port,
      interval: healthCheck.intervalSeconds,
      timeout: healthCheck.timeoutSeconds,
      retries: healthCheck.retries,
      ...(healthCheck.http && { http: { ...healthCheck.http, statusCodes: [...healthCheck.http.statusCodes] } }),
    },
  };
}

/** Whether a target is reached over the network. Such a target is lost when the load balancer is detached. */
export function isPrivate(target: TargetSpec): boolean {
  return target.kind === "server" && target.usePrivateIp;
}

/** Inputs of a target. */
export function targetInputs(target: TargetSpec) {
  return target.kind === "server"
    ? { type: "server", serverId: target.serverId, usePrivateIp: target.usePrivateIp }
    : { type: "ip", ip: target.ip };
}

/** Placeholder for private keys. The gateway, in the controller, replaces it in requests to the cloud. */
export const PRIVATE_KEY = "held by the controller";

type CertificateFields = Pick<CertificateSpec, "name" | "labels">;

/** Inputs of a managed certificate. */
export function managedInputs({ name, labels }: CertificateFields, domains: readonly string[]) {
  return { name, labels: { ...labels }, domainNames: [...domains] };
}

/** Inputs of an uploaded certificate. */
export function uploadedInputs({ name, labels }: CertificateFields, pem: string) {
  return { name, labels: { ...labels }, certificate: pem, privateKey: PRIVATE_KEY };
}

/** Inputs of a route. */
export function routeInputs({ networkId, destination, gateway }: RouteSpec) {
  return { networkId, destination, gateway };
}
