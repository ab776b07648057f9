/** Checks for fields that several resources share. */
import { type Cidr, parseCidr, parseIp } from "../state/cidr.ts";
import { type Check, integer, reject, string } from "./schema.ts";

/** A positive id. */
export const id: Check<number> = integer({ min: 1 });

/** The name of most resources: 1 to 128 characters without leading or trailing blanks. */
export const name: Check<string> = string({ min: 1, max: 128, pattern: /^\S(.*\S)?$/ });

/** The name of a server: an RFC 1123 host name. */
export const hostname: Check<string> = string({
  min: 1,
  max: 253,
  pattern: /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?)*$/,
});

/** An id or a name, as number or text. The value is always text. */
export const idOrName: Check<string> = (value, path) => {
  if (Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && value !== "" ? value : reject(path, "Must be an ID or a name.");
};

/** A TCP port. */
export const port: Check<number> = integer({ min: 1, max: 65535 });

/** An IPv4 range without host bits. */
export const cidrRange: Check<Cidr> = (value, path) =>
  (typeof value === "string" ? parseCidr(value) : undefined) ?? reject(path, "Must be a CIDR.");

/** An IPv4 address in canonical notation. */
export const ipv4: Check<string> = (value, path) =>
  typeof value === "string" && parseIp(value) !== undefined ? value : reject(path, "Must be an IPv4 address.");

/** Finds a row by id or name; numeric text counts as an id. */
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
