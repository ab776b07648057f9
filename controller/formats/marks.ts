/**
 * Marks: labels on load balancers and certificates that record what cannot be derived from the resource itself but is
 * needed to undo a Service's settings. They are a stable format: load balancers keep them under other controllers.
 *
 * | label | meaning |
 * | --- | --- |
 * | `lotse/foreign-<part>` | the listener or target existed before the load balancer was adopted |
 * | `lotse/label-<key>` | the label comes from the Service |
 * | `lotse/rdns-<version>` | the reverse DNS name was set for the Service |
 * | `lotse/protected` | the delete protection was set for the Service |
 * | `lotse/released` | the Service with this UID released the load balancer or certificate |
 */
import { createHash } from "node:crypto";
import type { IpVersion } from "../../stacks/units/spec.ts";

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

/** Mark of a label that comes from the Service. */
export function labelMark(key: string): string {
  return `${PREFIX}label-${key.replaceAll("/", "_")}`;
}

/** Mark of a reverse DNS name that was set for the Service. */
export function rdnsMark(version: IpVersion): string {
  return `${PREFIX}rdns-${version}`;
}

/** Mark of a delete protection that was set for the Service. */
export const PROTECTED_MARK = `${PREFIX}protected`;
/** Mark of a released resource; the value is the UID of its last Service. */
export const RELEASED_MARK = `${PREFIX}released`;

/** Value of marks whose presence is the message. */
export const YES = "true";

/** A name as a label value: hashed when it is too long. */
export function nameValue(name: string): string {
  return name.length <= 63 ? name : createHash("sha256").update(name).digest("hex").slice(0, 32);
}

/** The labels that belong neither to us nor to the Service. */
export function othersLabels(labels: Labels, ownerLabel: string): Labels {
  const isOthers = (key: string) => key !== ownerLabel && !isMark(key) && !Object.hasOwn(labels, labelMark(key));
  return Object.fromEntries(Object.entries(labels).filter(([key]) => isOthers(key)));
}
