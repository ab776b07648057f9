/** `externalTrafficPolicy: Local`: only nodes with endpoints receive traffic, as kube-proxy's health check reports. */
import type { V1Service } from "@kubernetes/client-node";
import type { ListenerOptionName, ServiceOptions } from "./options/annotations.ts";
import type { Settings } from "./options/settings.ts";

/** Options that would replace kube-proxy's health check. Interval, timeout and retries do not. */
const REPLACING: readonly ListenerOptionName[] = [
  "healthCheckProtocol",
  "healthCheckPort",
  "healthCheckDomain",
  "healthCheckPath",
  "healthCheckTls",
  "healthCheckStatusCodes",
];

/** The port on which each node reports whether it has endpoints; undefined with another policy. */
export function localCheckPort({ spec }: V1Service): number | undefined {
  return spec?.externalTrafficPolicy === "Local" && spec.healthCheckNodePort ? spec.healthCheckNodePort : undefined;
}

/** The sources of the options that replace kube-proxy's health check. */
export function overridesLocalCheck(service: V1Service, { options, sources }: Settings): readonly string[] {
  if (localCheckPort(service) === undefined) return [];
  return REPLACING.filter((name) => options[name] !== undefined).map((name) => sources[name] ?? name);
}

/** kube-proxy's health check; undefined when it does not apply or is replaced. */
export function localHealthCheck(service: V1Service, options: ServiceOptions) {
  const port = localCheckPort(service);
  if (port === undefined || REPLACING.some((name) => options[name] !== undefined)) return undefined;
  return { port, http: { domain: "", path: "/healthz", response: "", tls: false, statusCodes: ["200"] } };
}
