/** Listeners of a balancer from the ports of a Service. Every field is set, so that removing an option restores its default. */
import type { V1Service, V1ServicePort } from "@kubernetes/client-node";
import type { HealthCheck, HttpOptions, ListenerSpec } from "../../stacks/spec.ts";
import { PORT_ROWS, type ServiceOptions } from "./annotations.ts";
import { localHealthCheck } from "./local-traffic.ts";
import type { ServiceSettings, Settings } from "./settings.ts";

/**
 * Listeners for one Service, keyed by listen port so that a port keeps its resource when others come and go. A port with a
 * mistake keeps the listener it has, or has none yet.
 */
export function renderListeners(
  service: V1Service,
  settings: ServiceSettings,
  present: readonly ListenerSpec[] = [],
): readonly ListenerSpec[] {
  return tcpPorts(service)
    .flatMap((port) => {
      const own = settings.ports.get(port.port) ?? settings;
      if (!isBroken(own)) return [renderListener(service, port, own.options)];
      const kept = present.find(({ listenPort }) => listenPort === port.port);
      return kept ? [followNodePort(kept, port.nodePort)] : [];
    })
    .toSorted((a, b) => a.listenPort - b.listenPort);
}

/** Ports that a balancer can carry: the provider forwards TCP only. */
export function tcpPorts(service: V1Service): readonly V1ServicePort[] {
  return (service.spec?.ports ?? []).filter(({ protocol }) => (protocol ?? "TCP") === "TCP");
}

function isBroken({ broken }: Settings): boolean {
  return PORT_ROWS.some(([name]) => broken.has(name));
}

/** Nodes are to be found where they are, whatever else is wrong; so are their health checks, if they were there. */
function followNodePort(kept: ListenerSpec, nodePort: number | undefined): ListenerSpec {
  if (!nodePort) return kept;
  const { destinationPort, healthCheck } = kept;
  const port = healthCheck.port === destinationPort ? nodePort : healthCheck.port;
  return { ...kept, destinationPort: nodePort, healthCheck: { ...healthCheck, port } };
}

function renderListener(service: V1Service, port: V1ServicePort, options: ServiceOptions): ListenerSpec {
  const protocol = options.protocol ?? "tcp";
  const destinationPort = port.nodePort ?? 0;
  return {
    listenPort: port.port,
    destinationPort,
    protocol,
    proxyProtocol: options.proxyProtocol ?? false,
    ...(protocol !== "tcp" && { http: renderHttp(options) }),
    healthCheck: renderHealthCheck(destinationPort, protocol, options, localHealthCheck(service, options)),
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
function renderHealthCheck(
  nodePort: number,
  protocol: ListenerSpec["protocol"],
  options: ServiceOptions,
  local: ReturnType<typeof localHealthCheck>,
): HealthCheck {
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
  if (local) return { protocol: "http", ...common, ...local };
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
