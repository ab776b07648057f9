/**
 * Names in the stack. They are a format with users: states, targets and audit records refer to them, so what is here
 * must not change; a changed name would delete and create again what it names.
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

/** Label on balancers and certificates that says which Service owns them; shared with the official controller. */
export const SERVICE_UID_LABEL = "hcloud-ccm/service-uid";

/** The balancer of a Service. The uid tells it from an earlier Service of the same name that is still being removed. */
export function loadBalancerUnit(service: ServiceRef): UnitId {
  return `load-balancer/${serviceKey(service)}`;
}

function serviceKey({ namespace, name, uid }: ServiceRef): string {
  return `${namespace}/${name}@${uid.replaceAll("-", "").slice(0, 12)}`;
}

/** What the units of one Service have in common: its name and uid. */
export function serviceKeyOf(unit: UnitId): string {
  return unit.split("/").slice(1, 3).join("/");
}

/**
 * A certificate of a Service, named by what it holds: the same content is the same certificate, whoever made it, and a
 * changed intent is another one beside it. A second certificate with the same content is told from the first by its id.
 */
export function certificateUnit(
  { service, content }: Pick<CertificateSpec, "service" | "content">,
  copy?: number,
): UnitId {
  return `certificate/${serviceKey(service)}/${contentKey(content)}${copy === undefined ? "" : `-${copy}`}`;
}

/** Twelve hexadecimal digits that stand for what a certificate holds. */
export function contentKey(content: CertificateContent): string {
  if (content.type === "uploaded") return content.fingerprint.replaceAll(":", "").slice(0, 12).toLowerCase();
  const text = [...content.domains, ...(content.isStaging ? ["staging"] : [])].join("\n");
  return createHash("sha256").update(text).digest("hex").slice(0, 12);
}

/** The route to one pod range. Keyed by destination, so that a range moving to another node is one change in order. */
export function routeUnit({ destination }: Pick<RouteSpec, "destination">): UnitId {
  return `route/${destination}`;
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

/** Name of a resource inside a unit. */
export function partName(unit: UnitId, part: string): string {
  return `${unit}#${part}`;
}

/** Part of a balancer that holds one target. */
export function targetPart(target: TargetSpec): string {
  return target.kind === "server" ? `server-${target.serverId}` : `ip-${target.ip}`;
}

/** Part of a balancer that holds the name of one of its addresses. */
export function rdnsPart(version: IpVersion): string {
  return `rdns-${version}`;
}

/** Part of a balancer that holds one listener. */
export function listenerPart(listenPort: number): string {
  return `listener-${listenPort}`;
}

/** The unit a resource belongs to, from its URN; nothing for the stack itself and for providers. */
export function unitOfUrn(urn: string): UnitId | undefined {
  // Stack, project and types come first; the name may hold "::" itself, in an IPv6 address.
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

/** The kind of a unit, with which its name begins. */
function kindOf(unit: UnitId): UnitSpec["kind"] {
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

/** Pattern that matches the URNs of all units and of what is in them: not the stack itself, and no provider. */
export function unitsPattern(stack: string): string {
  return `urn:pulumi:${stack}::${PROJECT}::lotse:**`;
}
