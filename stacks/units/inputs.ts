/**
 * Parts of a spec as the provider's inputs. The program declares resources with them, and the checkpoint is written
 * with them from what the cloud has, so that equal things are equal for the engine too.
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

export function balancerInputs(spec: BalancerFields) {
  return {
    name: spec.name,
    loadBalancerType: spec.type,
    algorithm: { type: spec.algorithm },
    labels: { ...spec.labels },
    deleteProtection: spec.deleteProtection,
  };
}

/** The provider takes a network or one of its subnets, not both. */
export function attachmentInputs({ networkId, subnet, ip, publicInterface }: NetworkAttachment) {
  return {
    ...(subnet === undefined ? { networkId } : { subnetId: `${networkId}-${subnet}` }),
    enablePublicInterface: publicInterface,
    ...(ip !== undefined && { ip }),
  };
}

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

/** Whether a target is reached over the network, and so lost with the attachment to it. */
export function isPrivate(target: TargetSpec): boolean {
  return target.kind === "server" && target.usePrivateIp;
}

export function targetInputs(target: TargetSpec) {
  return target.kind === "server"
    ? { type: "server", serverId: target.serverId, usePrivateIp: target.usePrivateIp }
    : { type: "ip", ip: target.ip };
}

/** Stands for every private key on this side: the real ones stay in the controller, whose gateway puts them in on their way out. */
export const PRIVATE_KEY = "held by the controller";

type CertificateFields = Pick<CertificateSpec, "name" | "labels">;

export function managedInputs({ name, labels }: CertificateFields, domains: readonly string[]) {
  return { name, labels: { ...labels }, domainNames: [...domains] };
}

export function uploadedInputs({ name, labels }: CertificateFields, pem: string) {
  return { name, labels: { ...labels }, certificate: pem, privateKey: PRIVATE_KEY };
}

export function routeInputs({ networkId, destination, gateway }: RouteSpec) {
  return { networkId, destination, gateway };
}
