/** Listeners of a balancer from the ports of a Service. Every field is set, so that removing an option restores its default. */
import type { V1Service, V1ServicePort } from "@kubernetes/client-node";
import type { HealthCheck, HttpOptions, ListenerSpec } from "../../stacks/spec.ts";
import type { ServiceOptions } from "./annotations.ts";

/** Listeners for one Service, keyed by listen port so that a port keeps its resource when others come and go. */
export function renderListeners(service: V1Service, options: ServiceOptions): readonly ListenerSpec[] {
  return tcpPorts(service)
    .map((port) => renderListener(port, options))
    .toSorted((a, b) => a.listenPort - b.listenPort);
}

/** Ports that a balancer can carry: the provider forwards TCP only. */
export function tcpPorts(service: V1Service): readonly V1ServicePort[] {
  return (service.spec?.ports ?? []).filter(({ protocol }) => (protocol ?? "TCP") === "TCP");
}

function renderListener(port: V1ServicePort, options: ServiceOptions): ListenerSpec {
  const protocol = options.protocol ?? "tcp";
  const destinationPort = port.nodePort ?? 0;
  return {
    listenPort: port.port,
    destinationPort,
    protocol,
    proxyProtocol: options.proxyProtocol ?? false,
    ...(protocol !== "tcp" && { http: renderHttp(options) }),
    healthCheck: renderHealthCheck(destinationPort, protocol, options),
  };
}

function renderHttp(options: ServiceOptions): HttpOptions {
  return {
    stickySessions: options.stickySessions ?? false,
    cookieName: options.cookieName || "HCLBSTICKY",
    cookieLifetimeSeconds: options.cookieLifetime ?? 300,
    timeoutIdleSeconds: options.timeoutIdle ?? 50,
    redirectHttp: options.redirectHttp ?? false,
    certificateIds: [],
  };
}

/** A health check speaks the listener's protocol as soon as any of its options is set, else plain TCP (H1, H2). */
function renderHealthCheck(nodePort: number, protocol: ListenerSpec["protocol"], options: ServiceOptions): HealthCheck {
  const isConfigured = Object.entries(options).some(
    ([name, value]) => name.startsWith("healthCheck") && value !== undefined,
  );
  const asked = options.healthCheckProtocol ?? (isConfigured ? protocol : "tcp");
  const common = {
    port: options.healthCheckPort ?? nodePort,
    intervalSeconds: options.healthCheckInterval ?? 15,
    timeoutSeconds: options.healthCheckTimeout ?? 10,
    retries: options.healthCheckRetries ?? 3,
  };
  if (asked === "tcp") return { protocol: "tcp", ...common };
  return {
    protocol: "http",
    ...common,
    http: {
      domain: options.healthCheckDomain ?? "",
      path: options.healthCheckPath || "/",
      response: "",
      tls: options.healthCheckTls ?? asked === "https",
      statusCodes: options.healthCheckStatusCodes ?? ["2??", "3??"],
    },
  };
}
