/** ASN.1 in DER, as far as X.509 certificates need it. */

/** An element: tag, length, content. */
export function element(tag: number, ...parts: readonly Uint8Array[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), encodeLength(content.length), content]);
}

/** SEQUENCE of encoded elements. */
export const sequence = (...parts: readonly Uint8Array[]) => element(0x30, ...parts);

/** SET of one element; names need no more. */
export const set = (part: Uint8Array) => element(0x31, part);

/** Element with a context-specific, constructed tag, such as [0] or [3]. */
export const explicit = (number: number, part: Uint8Array) => element(0xa0 | number, part);

/** OBJECT IDENTIFIER from its dotted form. */
export function oid(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split(".").map(Number);
  return element(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

/** INTEGER from unsigned big-endian bytes. */
export function unsigned(bytes: Uint8Array): Buffer {
  const start = bytes.findIndex((byte) => byte !== 0);
  const short = start < 0 ? Buffer.from([0]) : bytes.subarray(start);
  const isNegative = ((short[0] ?? 0) & 0x80) !== 0;
  return element(0x02, ...(isNegative ? [Buffer.from([0])] : []), short);
}

/** BOOLEAN true. False is the default, which DER omits. */
export const yes = () => element(0x01, Buffer.from([0xff]));

/** UTF8String. */
export const text = (value: string) => element(0x0c, Buffer.from(value, "utf8"));

/** OCTET STRING. */
export const octets = (value: Uint8Array) => element(0x04, value);

/** BIT STRING. `unusedBits` are at the end of the last byte. */
export const bits = (value: Uint8Array, unusedBits = 0) => element(0x03, Buffer.from([unusedBits]), value);

/** GeneralizedTime, to the second. X.509 requires it from 2050 on, and clients accept it before. */
export const time = (date: Date) =>
  element(0x18, Buffer.from(`${date.toISOString().replaceAll(/[-:T]/g, "").slice(0, 14)}Z`, "ascii"));

function encodeLength(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const bytes: number[] = [];
  for (let rest = length; rest > 0; rest >>= 8) bytes.unshift(rest & 0xff);
  return Buffer.from([0x80 | bytes.length, ...bytes]);
}

function base128(value: number): number[] {
  const bytes = [value & 0x7f];
  for (let rest = value >> 7; rest > 0; rest >>= 7) bytes.unshift((rest & 0x7f) | 0x80);
  return bytes;
}
