/** Rules for the listeners of load balancers, which the API calls services. */
import { ApiError, invalidField, limitExceeded, notFound, refuse } from "../api/errors.ts";
import { id, port } from "../api/fields.ts";
import { given } from "../api/resource.ts";
import {
  array,
  boolean,
  type Checked,
  integer,
  object,
  oneOf,
  optional,
  optionalOrNull,
  string,
} from "../api/schema.ts";
import type { Project } from "../state/project.ts";
import type { HealthCheck, LoadBalancerRecord, LoadBalancerService, ServiceHttp } from "../state/records.ts";
import { loadBalancerTypeNamed } from "./catalogue.ts";

const healthCheckBody = object({
  protocol: optional(oneOf("tcp", "http")),
  port: optional(port),
  interval: optional(integer({ min: 3, max: 60 })),
  timeout: optional(integer({ min: 1, max: 60 })),
  retries: optional(integer({ min: 1, max: 5 })),
  http: optional(
    object({
      domain: optionalOrNull(string({ max: 128, pattern: /^[^\s%\\]*$/ })),
      path: optional(string({ min: 1, max: 256 })),
      response: optional(string({ max: 256 })),
      status_codes: optional(array(string({ min: 1, max: 3, pattern: /^[0-9?*]+$/ }), 20)),
      tls: optional(boolean),
    }),
  ),
});

const httpBody = object({
  cookie_name: optional(string({ min: 1, max: 100 })),
  cookie_lifetime: optional(integer({ min: 30, max: 86_400 })),
  timeout_idle: optional(integer({ min: 30, max: 300 })),
  sticky_sessions: optional(boolean),
  certificates: optional(array(id)),
  redirect_http: optional(boolean),
});

const fields = {
  protocol: optional(oneOf("tcp", "http", "https")),
  destination_port: optional(port),
  proxyprotocol: optional(boolean),
  health_check: optional(healthCheckBody),
  http: optional(httpBody),
};

/** A listener in a request. Most fields have a default. */
export const listenerBody = object({ ...fields, listen_port: optional(port) });

/** A change of a listener, which the listen port identifies. */
export const updateListenerBody = object({ ...fields, listen_port: port });

type ListenerRequest = Checked<typeof listenerBody>;
type Protocol = LoadBalancerService["protocol"];

const DEFAULT_PORT: Readonly<Partial<Record<Protocol, number>>> = { http: 80, https: 443 };
const DEFAULT_HTTP: ServiceHttp = {
  cookie_name: "HCLBSTICKY",
  cookie_lifetime: 300,
  timeout_idle: 50,
  sticky_sessions: false,
};
const DEFAULT_CHECK_HTTP = {
  domain: null,
  path: "/",
  response: "",
  status_codes: ["2??", "3??"],
  tls: false,
} as const;
const REDIRECT_PORT = 80;

/** Adds a listener. A port in use is 412, unlike in an update. */
export function addListener(project: Project, lb: LoadBalancerRecord, body: ListenerRequest): LoadBalancerRecord {
  const protocol = body.protocol ?? missing("protocol");
  const listen_port = body.listen_port ?? DEFAULT_PORT[protocol] ?? missing("listen_port");
  const destination_port = body.destination_port ?? (protocol === "tcp" ? missing("destination_port") : 80);
  const health_check = mergeHealthCheck(defaultCheck(protocol, destination_port), body.health_check);
  const http = mergeHttp(protocol, undefined, body.http);
  const service: LoadBalancerService = {
    protocol,
    listen_port,
    destination_port,
    proxyprotocol: body.proxyprotocol ?? false,
    health_check,
    ...(http ? { http } : {}),
  };
  const limit = loadBalancerTypeNamed(lb.load_balancer_type).max_services;
  if (lb.services.length >= limit)
    throw limitExceeded("load_balancer_services", `cannot have more than ${limit} services`);
  return checked(project, { ...lb, services: [...lb.services, service] }, { service, clashStatus: 412 });
}

/** Changes the given fields of the listener on `listen_port`. Others stay, also in nested blocks. */
export function updateListener(
  project: Project,
  lb: LoadBalancerRecord,
  body: Checked<typeof updateListenerBody>,
): LoadBalancerRecord {
  const before = listenerAt(lb, body.listen_port);
  const protocol = body.protocol ?? before.protocol;
  const { http: _, ...kept } = before;
  const http = mergeHttp(protocol, before.http, body.http);
  const service: LoadBalancerService = {
    ...kept,
    protocol,
    destination_port: body.destination_port ?? before.destination_port,
    proxyprotocol: body.proxyprotocol ?? before.proxyprotocol,
    health_check: mergeHealthCheck(before.health_check, body.health_check),
    ...(http ? { http } : {}),
  };
  const services = lb.services.map((candidate) => (candidate === before ? service : candidate));
  return checked(project, { ...lb, services }, { service, clashStatus: 422 });
}

/** Removes the listener on a port. An unknown port is 404. */
export function deleteListener(lb: LoadBalancerRecord, listenPort: number): LoadBalancerRecord {
  const gone = listenerAt(lb, listenPort);
  return { ...lb, services: lb.services.filter((service) => service !== gone) };
}

function listenerAt(lb: LoadBalancerRecord, listenPort: number): LoadBalancerService {
  const service = lb.services.find(({ listen_port }) => listen_port === listenPort);
  if (service) return service;
  throw refuse("not_found", `service with listen port ${listenPort} for load balancer with ID ${lb.id} not found`);
}

function missing(field: string): never {
  throw invalidField(field, "Missing data for required field.");
}

function defaultCheck(protocol: Protocol, destinationPort: number): HealthCheck {
  const base = { port: destinationPort, interval: 15, timeout: 10, retries: 3 };
  return protocol === "tcp" ? { protocol, ...base } : { protocol: "http", ...base, http: DEFAULT_CHECK_HTTP };
}

function mergeHealthCheck(base: HealthCheck, body: ListenerRequest["health_check"]): HealthCheck {
  if (!body) return base;
  const { http: asked, ...fields } = body;
  const { http: had, ...rest } = base;
  const merged = { ...rest, ...given(fields) };
  if (merged.protocol === "tcp") return merged;
  return { ...merged, http: { ...DEFAULT_CHECK_HTTP, ...had, ...given(asked ?? {}) } };
}

/** HTTP settings are for http and https only, certificates and redirects for https only. */
function mergeHttp(
  protocol: Protocol,
  before: ServiceHttp | undefined,
  body: ListenerRequest["http"],
): ServiceHttp | undefined {
  if (protocol !== "https" && body?.redirect_http) {
    throw invalidField("http.redirect_http", "Only available for https services.");
  }
  if (protocol === "tcp") return undefined;
  const { certificates = [], redirect_http = false, ...common } = { ...DEFAULT_HTTP, ...before, ...given(body ?? {}) };
  return protocol === "https" ? { ...common, certificates, redirect_http } : common;
}

interface Change {
  readonly service: LoadBalancerService;
  readonly clashStatus: 412 | 422;
}

/** Checks that involve other listeners, or certificates. */
function checked(project: Project, lb: LoadBalancerRecord, { service, clashStatus }: Change): LoadBalancerRecord {
  const clash = portClash(lb, service);
  if (clash) throw new ApiError(clashStatus, "source_port_already_used", clash);
  if (service.protocol === "https" && (service.http?.certificates ?? []).length === 0) {
    throw invalidField("http.certificates", "Must have at least one certificate.");
  }
  const certificates = certificatesOf(lb);
  for (const certificate of certificates) {
    if (!project.certificates.get(certificate)) throw notFound("certificate", certificate);
  }
  const limit = loadBalancerTypeNamed(lb.load_balancer_type).max_assigned_certificates;
  if (certificates.size > limit) throw limitExceeded("load_balancer_certificates");
  return lb;
}

function portClash(lb: LoadBalancerRecord, service: LoadBalancerService): string | undefined {
  const others = lb.services.filter((other) => other !== service);
  const redirects = others.some((other) => other.http?.redirect_http);
  const takesPort80 = service.listen_port === REDIRECT_PORT || service.http?.redirect_http;
  if (takesPort80 && redirects) return "port 80 is busy, redirect_http is enabled on another service";
  const wanted = [service.listen_port, ...(service.http?.redirect_http ? [REDIRECT_PORT] : [])];
  if (new Set(wanted).size < wanted.length) return "port 80 is busy, redirect_http is enabled on this service";
  const busy = others.find((other) => wanted.includes(other.listen_port));
  return busy && `source port ${busy.listen_port} is already used`;
}

/** The certificates of all listeners. */
export function certificatesOf(lb: LoadBalancerRecord): ReadonlySet<number> {
  return new Set(lb.services.flatMap(({ http }) => http?.certificates ?? []));
}
