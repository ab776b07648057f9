/** The reason for a change: the object that asks for it, and the field or annotation. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import type { Difference } from "../../stacks/units/difference.ts";
import { rangeOf, SERVICE_UID_LABEL, serviceKeyOf } from "../../stacks/units/names.ts";
import type { UnitId } from "../../stacks/units/spec.ts";
import type { PlannedUnit } from "../guard/plan.ts";
import type { Server } from "../hcloud/api.ts";
import type { Rendered } from "../render/cluster.ts";
import type { ServiceIntent } from "../render/intents.ts";
import { findServer } from "../render/node/metadata.ts";
import {
  ENV_PREFIX,
  OPTIONS,
  type OptionName,
  PREFIX,
  type ServiceOptions,
} from "../render/service/options/annotations.ts";
import { parseSettings } from "../render/service/options/settings.ts";
import { serviceName } from "../render/service/ours.ts";

/** Where reasons are looked up. */
export interface ReasonContext {
  readonly rendered: Rendered;
  readonly nodes: readonly V1Node[];
  readonly servers: readonly Server[];
  /** Cluster-wide defaults of Services. */
  readonly defaults: ServiceOptions;
  /** The reason for all changes, when they have one in common, such as `lotse destroy`. */
  readonly occasion?: string;
}

/** One field of a resource, and why it changes. An absent side means that the field is not set there. */
export interface ReasonedField {
  readonly field: string;
  readonly from?: string;
  readonly to?: string;
  readonly reason: string;
}

/** The object a unit is for, as users know it: `Service default/web`, `Node node-1`. */
export function objectOf(
  { unit }: Pick<PlannedUnit, "unit">,
  { rendered, nodes }: Pick<ReasonContext, "rendered" | "nodes">,
): string {
  const intent = intentBehind(unit, rendered);
  if (intent) return nameOf(intent.service);
  const node = nodeOfRoute(unit, nodes);
  return node ? `Node ${node.metadata?.name}` : unit.replace("/", " ");
}

/** Why a field of a unit changes. */
export function reasonFor(step: PlannedUnit, difference: Difference, context: ReasonContext): string {
  if (context.occasion !== undefined) return context.occasion;
  const intent = intentBehind(step.unit, context.rendered);
  if (!intent) return routeReason(step, context);
  if (intent.kind === "retire") return retireReason(intent.service);
  if (step.unit !== intent.unit) return `certificates of ${nameOf(intent.service)}`;
  return loadBalancerReason(intent, difference, context);
}

/** The intent of the Service that a load balancer or certificate is for. */
function intentBehind(unit: UnitId, { services }: Rendered): ServiceIntent | undefined {
  const intents = indexes.get(services) ?? new Map(services.map((intent) => [serviceKeyOf(intent.unit), intent]));
  indexes.set(services, intents);
  return unit.startsWith("route/") ? undefined : intents.get(serviceKeyOf(unit));
}

/** Intents by Service. Built once per snapshot, because every field of every change is looked up. */
const indexes = new WeakMap<Rendered["services"], ReadonlyMap<string, ServiceIntent>>();

function retireReason(service: V1Service): string {
  const isDeleted = service.metadata?.deletionTimestamp !== undefined;
  return `${nameOf(service)} ${isDeleted ? "is being deleted" : "is no longer of type LoadBalancer"}`;
}

function routeReason({ unit, kind }: PlannedUnit, { nodes, servers }: ReasonContext): string {
  const node = nodeOfRoute(unit, nodes);
  if (kind === "remove" || !node) return `no Node has the pod range ${rangeOf(unit)}`;
  const server = findServer(node, servers);
  return `Node ${node.metadata?.name}, spec.podCIDRs${server ? `; private address of server ${server.name}` : ""}`;
}

function nodeOfRoute(unit: string, nodes: readonly V1Node[]): V1Node | undefined {
  return nodes.find(({ spec }) => spec?.podCIDRs?.includes(rangeOf(unit) ?? ""));
}

/** The option that sets a field of a part. All listeners share one entry. */
const OPTION_OF: Readonly<Record<string, Readonly<Record<string, OptionName>>>> = {
  balancer: { name: "name", type: "type", algorithm: "algorithm" },
  network: { "public interface": "disablePublicNetwork", ip: "privateIpv4", subnet: "privateSubnet" },
  "rdns-ipv4": { name: "ipv4Rdns" },
  "rdns-ipv6": { name: "ipv6Rdns" },
  listener: {
    protocol: "protocol",
    proxyProtocol: "proxyProtocol",
    "http stickySessions": "stickySessions",
    "http cookieName": "cookieName",
    "http cookieLifetimeSeconds": "cookieLifetime",
    "http timeoutIdleSeconds": "timeoutIdle",
    "http redirectHttp": "redirectHttp",
    "healthCheck protocol": "healthCheckProtocol",
    "healthCheck port": "healthCheckPort",
    "healthCheck intervalSeconds": "healthCheckInterval",
    "healthCheck timeoutSeconds": "healthCheckTimeout",
    "healthCheck retries": "healthCheckRetries",
    "healthCheck http domain": "healthCheckDomain",
    "healthCheck http path": "healthCheckPath",
    "healthCheck http tls": "healthCheckTls",
    "healthCheck http statusCodes": "healthCheckStatusCodes",
  },
};

function loadBalancerReason(
  { service }: ServiceIntent,
  { part, field, want, have }: Difference,
  context: ReasonContext,
): string {
  const [, kind, key = ""] = /^(\w+)-?(.*)$/.exec(part) ?? [];
  if (kind === "server") return targetReason(Number(key), want !== undefined, context);
  if (kind === "ip") return "dedicated server of a Node";
  if (field === `label ${SERVICE_UID_LABEL}`) return `${nameOf(service)}, metadata.uid`;
  if (part === "network" && field === "id") return "HCLOUD_NETWORK";
  if (field === "existence") return `${nameOf(service)} is of type LoadBalancer`;
  if (kind !== "listener") return optionSource(OPTION_OF[part]?.[field], service, context)?.text ?? nameOf(service);
  const source = optionSource(OPTION_OF.listener?.[field], service, context, Number(key));
  const comesFromPort = field === "destinationPort" || want === undefined || have === undefined;
  if ((comesFromPort || field === "healthCheck port") && !source?.isSet) return `${nameOf(service)}, spec.ports ${key}`;
  return source?.text ?? nameOf(service);
}

function targetReason(serverId: number, isWanted: boolean, { nodes, servers }: ReasonContext): string {
  const node = nodes.find((candidate) => findServer(candidate, servers)?.id === serverId);
  if (!node) return "no Node runs on this server";
  return isWanted ? `Node ${node.metadata?.name}` : `Node ${node.metadata?.name} is excluded from load balancers`;
}

/** What sets the option behind a field, for a port or the whole Service; undefined when no option does. */
function optionSource(name: OptionName | undefined, service: V1Service, { defaults }: ReasonContext, port?: number) {
  if (name === undefined) return undefined;
  const settings = parseSettings(service.metadata?.annotations ?? {}, service.spec?.ports ?? [], defaults);
  const source = ((port !== undefined && settings.ports.get(port)) || settings).sources[name];
  if (source?.startsWith(ENV_PREFIX)) return { isSet: true, text: `the controller's ${source}` };
  if (source !== undefined) return { isSet: true, text: `${nameOf(service)}, ${source}` };
  return { isSet: false, text: `${nameOf(service)}, annotation ${PREFIX}${OPTIONS[name].annotation} is not set` };
}

function nameOf(service: V1Service): string {
  return `Service ${serviceName(service)}`;
}
