/** Ports of a Service → listeners. Every field is set, so that removing an option restores its default. */
import type { V1Service, V1ServicePort } from "@kubernetes/client-node";
import type { HealthCheck, HttpOptions, ListenerSpec } from "../../../stacks/units/spec.ts";
import { localHealthCheck } from "./local-traffic.ts";
import { PORT_ROWS, type ServiceOptions } from "./options/annotations.ts";
import type { ServiceSettings, Settings } from "./options/settings.ts";

/** What listeners are rendered from, besides the settings. */
export interface ListenerSurroundings {
  /** The existing listeners. */
  readonly existing?: readonly ListenerSpec[] | undefined;
  /** Certificates of https ports, by port. */
  readonly certificates?: ReadonlyMap<number, readonly number[]>;
}

/**
 * Listeners for one Service, keyed by listen port so that a port keeps its resource when others come and go. A port
 * with a mistake keeps its existing listener, if any. So does a port that waits for a certificate, unless the existing
 * listener is https and has nothing to present.
 */
export function renderListeners(
  service: V1Service,
  settings: ServiceSettings,
  { existing = [], certificates = new Map() }: ListenerSurroundings = {},
): readonly ListenerSpec[] {
  return tcpPorts(service)
    .flatMap((port) => {
      const own = settings.ports.get(port.port) ?? settings;
      const certificateIds = certificates.get(port.port) ?? [];
      const isWaiting = own.options.protocol === "https" && certificateIds.length === 0;
      if (!isBroken(own) && !isWaiting) return [renderListener(service, port, { ...own.options, certificateIds })];
      const kept = existing.find(({ listenPort }) => listenPort === port.port);
      if (!kept || (!isBroken(own) && kept.protocol === "https")) return [];
      return [followNodePort(kept, port.nodePort)];
    })
    .toSorted((a, b) => a.listenPort - b.listenPort);
}

const NO_PORTS: readonly V1ServicePort[] = [];
const servable = new WeakMap<readonly V1ServicePort[], readonly V1ServicePort[]>();

/** The ports that can be served: Hetzner load balancers forward TCP only. The same array for the same Service. */
export function tcpPorts({ spec }: V1Service): readonly V1ServicePort[] {
  const ports = spec?.ports ?? NO_PORTS;
  const known = servable.get(ports);
  if (known) return known;
  const found = ports.filter(({ protocol }) => (protocol ?? "TCP") === "TCP");
  servable.set(ports, found);
  return found;
}

/** Whether any listener option of a port is invalid. */
export function isBroken({ broken }: Settings): boolean {
  return PORT_ROWS.some(([name]) => broken.has(name));
}

/** Updates the node port of a kept listener, and of its health check if that used the node port. */
function followNodePort(kept: ListenerSpec, nodePort: number | undefined): ListenerSpec {
  if (!nodePort) return kept;
  const { destinationPort, healthCheck } = kept;
  const port = healthCheck.port === destinationPort ? nodePort : healthCheck.port;
  return { ...kept, destinationPort: nodePort, healthCheck: { ...healthCheck, port } };
}

/** The options of one port, with its resolved certificates. */
type ListenerOptions = ServiceOptions & Pick<HttpOptions, "certificateIds">;

function renderListener(service: V1Service, port: V1ServicePort, options: ListenerOptions): ListenerSpec {
  const protocol = options.protocol ?? "tcp";
  const destinationPort = port.nodePort ?? 0;
  return {
    listenPort: port.port,
    destinationPort,
    protocol,
    proxyProtocol: options.proxyProtocol ?? false,
    ...(protocol !== "tcp" && { http: renderHttp(protocol, options) }),
    healthCheck: renderHealthCheck(service, destinationPort, options),
  };
}

function renderHttp(protocol: ListenerSpec["protocol"], options: ListenerOptions): HttpOptions {
  return {
    stickySessions: options.stickySessions ?? false,
    cookieName: options.cookieName || "HCLBSTICKY",
    cookieLifetimeSeconds: options.cookieLifetime ?? 300,
    timeoutIdleSeconds: options.timeoutIdle ?? 50,
    redirectHttp: options.redirectHttp ?? false,
    certificateIds: protocol === "https" ? options.certificateIds : [],
  };
}

/** A health check uses the listener's protocol if any health check option is set, otherwise TCP (H1, H2). */
function renderHealthCheck(service: V1Service, nodePort: number, options: ServiceOptions): HealthCheck {
  const isConfigured = Object.entries(options).some(
    ([name, value]) => name.startsWith("healthCheck") && value !== undefined,
  );
  const asked = options.healthCheckProtocol ?? ((isConfigured && options.protocol) || "tcp");
  const common = {
    port: options.healthCheckPort ?? nodePort,
    intervalSeconds: options.healthCheckInterval ?? 15,
    timeoutSeconds: options.healthCheckTimeout ?? 10,
    retries: options.healthCheckRetries ?? 3,
  };
  const local = localHealthCheck(service, options);
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
