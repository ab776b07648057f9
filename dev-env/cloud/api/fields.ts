import { type Cidr, parseCidr, parseIp } from "../state/cidr.ts";
import { type Check, integer, reject, string } from "./schema.ts";

/** Ids are positive and survive JSON numbers. */
export const id: Check<number> = integer({ min: 1 });

/** Names of most resources: 1–128 characters, no blank at either end. */
export const name: Check<string> = string({ min: 1, max: 128, pattern: /^\S(.*\S)?$/ });

/** RFC 1123 host name, what a server may be called. */
export const hostname: Check<string> = string({
  min: 1,
  max: 253,
  pattern: /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/,
});

/** A number, a numeric text or a name; always handed on as text. */
export const idOrName: Check<string> = (value, path) => {
  if (Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && value !== "" ? value : reject(path, "Must be an ID or a name.");
};

/** A TCP port. */
export const port: Check<number> = integer({ min: 1, max: 65535 });

/** IPv4 range without host bits. */
export const cidrRange: Check<Cidr> = (value, path) =>
  (typeof value === "string" ? parseCidr(value) : undefined) ?? reject(path, "Must be a CIDR.");

/** IPv4 address as text, spelled canonically. */
export const ipv4: Check<string> = (value, path) =>
  typeof value === "string" && parseIp(value) !== undefined ? value : reject(path, "Must be an IPv4 address.");

/** Picks the row an id-or-name field means; numeric text counts as id. */
export function pick<T extends { readonly id: number; readonly name: string | null }>(
  rows: Iterable<T>,
  wanted: string,
): T | undefined {
  const wantedId = /^\d+$/.test(wanted) ? Number(wanted) : undefined;
  for (const row of rows) {
    if (row.id === wantedId || row.name === wanted) return row;
  }
  return undefined;
}
