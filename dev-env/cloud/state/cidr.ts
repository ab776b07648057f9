/** Arithmetic with IPv4 addresses and ranges, as unsigned 32-bit numbers. */
import ipaddr from "ipaddr.js";

/** An IPv4 range. */
export interface Cidr {
  readonly first: number;
  readonly last: number;
  readonly prefix: number;
}

const QUAD = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/;

/** Parses an IPv4 address; undefined if invalid. Leading zeros are invalid, as in Go. */
export function parseIp(text: string): number | undefined {
  const match = QUAD.exec(text);
  if (!match) return undefined;
  let value = 0;
  for (const part of match.slice(1)) {
    if (Number(part) > 255 || (part.length > 1 && part.startsWith("0"))) return undefined;
    value = value * 256 + Number(part);
  }
  return value;
}

/** The text of an address. */
export function renderIp(value: number): string {
  return [24, 16, 8, 0].map((shift) => (value >>> shift) & 255).join(".");
}

/** Parses a range without host bits; undefined if invalid. */
export function parseCidr(text: string): Cidr | undefined {
  const slash = text.indexOf("/");
  const first = parseIp(text.slice(0, Math.max(slash, 0)));
  const bits = text.slice(slash + 1);
  if (slash < 0 || first === undefined || !/^\d{1,2}$/.test(bits) || Number(bits) > 32) return undefined;
  const size = 2 ** (32 - Number(bits));
  if (first % size !== 0) return undefined;
  return { first, last: first + size - 1, prefix: Number(bits) };
}

/** Whether a text is a range of either family, without host bits. */
export function isRange(text: string): boolean {
  if (parseCidr(text)) return true;
  if (!ipaddr.IPv6.isValidCIDR(text)) return false;
  return ipaddr.IPv6.networkAddressFromCIDR(text).toString() === ipaddr.IPv6.parseCIDR(text)[0].toString();
}

/** The text of a range. */
export function renderCidr({ first, prefix }: Cidr): string {
  return `${renderIp(first)}/${prefix}`;
}

/** Whether a range contains another range or an address. */
export function contains(outer: Cidr, inner: Cidr | number): boolean {
  const { first, last } = typeof inner === "number" ? { first: inner, last: inner } : inner;
  return outer.first <= first && last <= outer.last;
}

/** Whether two ranges share an address. */
export function overlaps(a: Cidr, b: Cidr): boolean {
  return a.first <= b.last && b.first <= a.last;
}

/** Parses a literal. Throws if it is invalid. */
export function cidr(text: string): Cidr {
  const parsed = parseCidr(text);
  if (!parsed) throw new TypeError(`not a CIDR: ${text}`);
  return parsed;
}

const PRIVATE: readonly Cidr[] = ["10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16"].map(cidr);

/** Whether a range or address is private (RFC 1918). */
export function isPrivate(range: Cidr | number): boolean {
  return PRIVATE.some((block) => contains(block, range));
}
