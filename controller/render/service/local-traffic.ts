/** `externalTrafficPolicy: Local`: only nodes with endpoints take traffic, and kube-proxy says which these are. */
import type { V1Service } from "@kubernetes/client-node";
import type { HealthCheck } from "../../../stacks/units/spec.ts";
import type { ListenerOptionName, ServiceOptions } from "./options/annotations.ts";
import type { Settings } from "./options/settings.ts";

/** Options that say where or how to ask; how often is left to the user. */
const ASKING: readonly ListenerOptionName[] = [
  "healthCheckProtocol",
  "healthCheckPort",
  "healthCheckDomain",
  "healthCheckPath",
  "healthCheckTls",
  "healthCheckStatusCodes",
];

/** The port on which every node says whether it has endpoints; nothing under another policy. */
export function localCheckPort({ spec }: V1Service): number | undefined {
  return spec?.externalTrafficPolicy === "Local" && spec.healthCheckNodePort ? spec.healthCheckNodePort : undefined;
}

/** What keeps health checks from asking there. */
export function overridesLocalCheck(service: V1Service, { options, sources }: Settings): readonly string[] {
  if (localCheckPort(service) === undefined) return [];
  return ASKING.filter((name) => options[name] !== undefined).map((name) => sources[name] ?? name);
}

/** The question that kube-proxy answers; nothing when it is not to be asked. */
export function localHealthCheck(
  service: V1Service,
  options: ServiceOptions,
): Pick<HealthCheck, "port" | "http"> | undefined {
  const port = localCheckPort(service);
  if (port === undefined || ASKING.some((name) => options[name] !== undefined)) return undefined;
  return { port, http: { domain: "", path: "/healthz", response: "", tls: false, statusCodes: ["200"] } };
}
