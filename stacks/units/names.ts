/**
 * Names in the stack. They are a public format that must not change: states, targets and audit records refer to them,
 * and Pulumi would delete and recreate a renamed resource.
 */
import { createHash } from "node:crypto";
import type {
  CertificateContent,
  CertificateSpec,
  IpVersion,
  RouteSpec,
  ServiceRef,
  TargetSpec,
  UnitId,
  UnitSpec,
} from "./spec.ts";

/** Pulumi project of all stacks. */
export const PROJECT = "lotse";

/** Label of load balancers and certificates with the UID of the owning Service; the same as HCCM's. */
export const SERVICE_UID_LABEL = "hcloud-ccm/service-uid";

/** The load balancer of a Service. The UID tells it from an earlier Service of the same name. */
export function loadBalancerUnit(service: ServiceRef): UnitId {
  return `load-balancer/${serviceKey(service)}`;
}

function serviceKey({ namespace, name, uid }: ServiceRef): string {
  return `${namespace}/${name}@${uid.replaceAll("-", "").slice(0, 12)}`;
}

/** The part of the name that all units of one Service share: its name and UID. */
export function serviceKeyOf(unit: UnitId): string {
  return unit.split("/").slice(1, 3).join("/");
}

/**
 * A certificate of a Service, named by its content: equal content means the same certificate, and other content a
 * second certificate beside it. `copy` is the id of a duplicate with the same content.
 */
export function certificateUnit(
  { service, content }: Pick<CertificateSpec, "service" | "content">,
  copy?: number,
): UnitId {
  return `certificate/${serviceKey(service)}/${contentKey(content)}${copy === undefined ? "" : `-${copy}`}`;
}

/** Twelve hexadecimal digits that identify the content of a certificate, for an uploaded one with its chain. */
export function contentKey(content: CertificateContent): string {
  if (content.type === "uploaded") {
    return (content.chain ?? content.fingerprint).replaceAll(":", "").slice(0, 12).toLowerCase();
  }
  const text = [...content.domains, ...(content.isStaging ? ["staging"] : [])].join("\n");
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/** The route to one pod range. Named by its destination, so that a range that moves to another node is one change. */
export function routeUnit({ destination }: Pick<RouteSpec, "destination">): UnitId {
  return `route/${destination}`;
}

/** The pod range that a route is for, from the name of its unit; undefined for other units. */
export function rangeOf(unit: string): string | undefined {
  return unit.startsWith("route/") ? unit.slice("route/".length) : undefined;
}

/** The unit a spec describes. */
export function unitOf(spec: UnitSpec): UnitId {
  switch (spec.kind) {
    case "load-balancer":
      return loadBalancerUnit(spec.service);
    case "route":
      return routeUnit(spec);
    case "certificate":
      return certificateUnit(spec);
  }
}

/** Name of a resource inside a unit or another component. */
export function partName(unit: string, part: string): string {
  return `${unit}#${part}`;
}

/** The part of a load balancer for one target. */
export function targetPart(target: TargetSpec): string {
  return target.kind === "server" ? `server-${target.serverId}` : `ip-${target.ip}`;
}

/** Whether a part is a target of a load balancer. */
export function isTarget(part: string): boolean {
  return /^(server|ip)-/.test(part);
}

/** The part of a load balancer for the reverse DNS entry of one address. */
export function rdnsPart(version: IpVersion): string {
  return `rdns-${version}`;
}

/** The part of a load balancer for one listener. */
export function listenerPart(listenPort: number): string {
  return `listener-${listenPort}`;
}

/** The main resource of each kind of unit. The unit exists as long as this part does. */
const MAIN_PART = { "load-balancer": "balancer", route: "route", certificate: "certificate" } as const;

/** The part of a unit without which the others cannot exist. */
export function mainPart(unit: UnitId): string {
  return MAIN_PART[kindOf(unit)];
}

const PART_KINDS = ["balancer", "network", "rdns", "listener", "server", "ip"];

/** Orders parts: the load balancer first, then its parts by kind, ports and ids in numeric order. */
export function comparePartNames(a: string, b: string): number {
  const rank = (part: string) => PART_KINDS.indexOf(part.replace(/-.*/, ""));
  return rank(a) - rank(b) || a.localeCompare(b, "en", { numeric: true });
}

/** The unit that a URN belongs to; undefined for the stack itself and for providers. */
export function unitOfUrn(urn: string): UnitId | undefined {
  // Stack, project and type come first. The name may itself contain "::", in an IPv6 address.
  const name = urn.split("::").slice(3).join("::");
  const unit = name.split("#", 1)[0] ?? "";
  return isUnit(unit) ? unit : undefined;
}

/** Pulumi type tokens of the units' components. */
export const COMPONENT_TYPE = {
  "load-balancer": "lotse:index:LoadBalancer",
  route: "lotse:index:Route",
  certificate: "lotse:index:Certificate",
} as const;

function isUnit(text: string): text is UnitId {
  return Object.keys(COMPONENT_TYPE).some((kind) => text.startsWith(`${kind}/`));
}

/** The kind of a unit, which is the beginning of its name. */
export function kindOf(unit: string): UnitSpec["kind"] {
  return unit.slice(0, unit.indexOf("/")) as UnitSpec["kind"];
}

/** URN of the stack itself. */
export function rootUrn(stack: string): string {
  return `urn:pulumi:${stack}::${PROJECT}::pulumi:pulumi:Stack::${PROJECT}-${stack}`;
}

/** URN of a unit's component. */
export function componentUrn(stack: string, unit: UnitId): string {
  return `urn:pulumi:${stack}::${PROJECT}::${COMPONENT_TYPE[kindOf(unit)]}::${unit}`;
}

/** A pattern for the URNs of all units and their parts, excluding stack and providers. */
export function unitsPattern(stack: string): string {
  return `urn:pulumi:${stack}::${PROJECT}::lotse:**`;
}
