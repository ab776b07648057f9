/**
 * What we note on a balancer about itself, in labels: what cannot be told from looking at it, and is needed to restore
 * what was before. They are a format: a balancer keeps them while other controllers have it.
 *
 * | label | says |
 * | --- | --- |
 * | `lotse/foreign-<part>` | this listener or target was there when the balancer was taken over |
 * | `lotse/label-<key>` | this label comes from the Service |
 * | `lotse/rdns-<version>` | this name was set for the Service |
 * | `lotse/protected` | the protection was set for the Service |
 * | `lotse/released` | the Service with this uid has left the balancer or certificate behind |
 */
import { createHash } from "node:crypto";
import type { IpVersion } from "../../stacks/units/spec.ts";

const PREFIX = "lotse/";

type Labels = Readonly<Record<string, string>>;

export function isMark(key: string): boolean {
  return key.startsWith(PREFIX);
}

/** A part's name as a label's can be: an IPv6 address has colons. */
export function foreignMark(part: string): string {
  return `${PREFIX}foreign-${part.replaceAll(":", "_")}`;
}

export function labelMark(key: string): string {
  return `${PREFIX}label-${key.replaceAll("/", "_")}`;
}

export function rdnsMark(version: IpVersion): string {
  return `${PREFIX}rdns-${version}`;
}

export const PROTECTED_MARK = `${PREFIX}protected`;
export const RELEASED_MARK = `${PREFIX}released`;

/** Value of marks that say all there is to say by being there. */
export const YES = "true";

/** A name as a label's value can hold it. */
export function nameValue(name: string): string {
  return name.length <= 63 ? name : createHash("sha256").update(name).digest("hex").slice(0, 32);
}

/** The labels that are neither ours nor the Service's. */
export function othersLabels(labels: Labels, ownerLabel: string): Labels {
  const isOthers = (key: string) => key !== ownerLabel && !isMark(key) && !Object.hasOwn(labels, labelMark(key));
  return Object.fromEntries(Object.entries(labels).filter(([key]) => isOthers(key)));
}
