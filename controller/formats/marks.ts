/**
 * Marks: labels on load balancers and certificates that record what cannot be derived from the resource itself but is
 * needed to undo a Service's settings. They are a stable format: load balancers keep them under other controllers.
 *
 * | label | meaning |
 * | --- | --- |
 * | `lotse/adopted` | the load balancer existed before its Service, or was handed over: it outlives the Service |
 * | `lotse/foreign-<part>` | the listener or target existed before the load balancer was adopted |
 * | `lotse/label-<key>`, `lotse/label.<prefix>_<name>` | the label comes from the Service |
 * | `lotse/rdns-<version>` | the reverse DNS name was set for the Service |
 * | `lotse/protected` | the delete protection was set for the Service |
 * | `lotse/released`, `-namespace`, `-name` | UID, namespace and name of the Service that left it behind |
 * | `lotse/adopt-namespace`, `-name`, `-uid` | set by operators: the Service that may adopt the load balancer |
 */
import { createHash } from "node:crypto";
import { defined } from "../../stacks/units/defined.ts";
import type { IpVersion, ServiceRef } from "../../stacks/units/spec.ts";

const PREFIX = "lotse/";

type Labels = Readonly<Record<string, string>>;

/** Whether a label key is one of our marks. */
export function isMark(key: string): boolean {
  return key.startsWith(PREFIX);
}

/** Mark of a foreign part. Colons, as in IPv6 addresses, are not allowed in label keys. */
export function foreignMark(part: string): string {
  return `${PREFIX}foreign-${part.replaceAll(":", "_")}`;
}

/** Mark of a label that comes from the Service. A prefix is a DNS name without underscores, so that no two keys share a mark. */
export function labelMark(key: string): string {
  return key.includes("/") ? `${PREFIX}label.${key.replace("/", "_")}` : `${PREFIX}label-${key}`;
}

/** Whether a label comes from the Service. Earlier versions marked `a/b` like `a_b`, which is believed if there is no `a_b`. */
export function isServiceLabel(labels: Labels, key: string): boolean {
  if (Object.hasOwn(labels, labelMark(key))) return true;
  const plain = key.replace("/", "_");
  return plain !== key && Object.hasOwn(labels, labelMark(plain)) && !Object.hasOwn(labels, plain);
}

/** Mark of a reverse DNS name that was set for the Service. */
export function rdnsMark(version: IpVersion): string {
  return `${PREFIX}rdns-${version}`;
}

/** Mark of a delete protection that was set for the Service. */
export const PROTECTED_MARK = `${PREFIX}protected`;
/** Mark of a load balancer that outlives its Service, because it was adopted. */
export const ADOPTED_MARK = `${PREFIX}adopted`;

const RELEASED = { uid: `${PREFIX}released`, namespace: `${PREFIX}released-namespace`, name: `${PREFIX}released-name` };
const CONSENT = { uid: `${PREFIX}adopt-uid`, namespace: `${PREFIX}adopt-namespace`, name: `${PREFIX}adopt-name` };

/** Marks of a resource that a Service leaves behind. */
export function releasedMarks(service: ServiceRef): Labels {
  return marksOf(RELEASED, service);
}

/** The labels without the marks of a Service that left the resource behind. */
export function withoutReleasedMarks(labels: Labels): Labels {
  const marks = Object.values(RELEASED);
  return Object.fromEntries(Object.entries(labels).filter(([key]) => !marks.includes(key)));
}

/** The Service that left a resource behind; undefined for one that was not left behind. Older marks have only the UID. */
export function releaserOf(labels: Labels): Partial<ServiceRef> | undefined {
  return labels[RELEASED.uid] === undefined ? undefined : serviceIn(RELEASED, labels);
}

/** Whether a Service, or an earlier one of the same namespace and name, left the resource behind. */
export function isReleasedBy(labels: Labels, service: ServiceRef): boolean {
  const { uid, namespace, name } = releaserOf(labels) ?? {};
  return uid === service.uid || (namespace === service.namespace && name === service.name);
}

/** Labels with which an operator consents that one Service, in one cluster, adopts the load balancer. */
export function consentMarks(service: ServiceRef): Labels {
  return marksOf(CONSENT, service);
}

/** The Service that an operator allows to adopt the load balancer. Without a UID, one of that name in any cluster. */
export function consentOf(labels: Labels): Partial<ServiceRef> {
  return serviceIn(CONSENT, labels);
}

/** Whether an operator consented with the UID of this Service. Every Service asks this of every load balancer. */
export function isHandedTo(labels: Labels, uid: string): boolean {
  return labels[CONSENT.uid] === uid;
}

/** Names of Services are valid label values: both are limited to 63 characters. */
function marksOf(keys: typeof CONSENT, { uid, namespace, name }: ServiceRef): Labels {
  return { [keys.uid]: uid, [keys.namespace]: namespace, [keys.name]: name };
}

function serviceIn(keys: typeof CONSENT, labels: Labels): Partial<ServiceRef> {
  return defined({ uid: labels[keys.uid], namespace: labels[keys.namespace], name: labels[keys.name] });
}

/** Value of marks whose presence is the message. */
export const YES = "true";

/** A name as a label value: hashed when it is too long. */
export function nameValue(name: string): string {
  return name.length <= 63 ? name : createHash("sha256").update(name).digest("hex").slice(0, 32);
}

/** The labels that belong neither to us nor to the Service. */
export function othersLabels(labels: Labels, ownerLabel: string): Labels {
  const isOthers = (key: string) => key !== ownerLabel && !isMark(key) && !isServiceLabel(labels, key);
  return Object.fromEntries(Object.entries(labels).filter(([key]) => isOthers(key)));
}
