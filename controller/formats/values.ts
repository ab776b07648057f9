/** Parsers for annotations and environment variables: text → value, or a description of what is allowed. */
import ipaddr from "ipaddr.js";
import { parseLabelSelector } from "./label-selector.ts";

/** The value, or what is allowed: a noun phrase that completes "… is not". */
export type Parsed<T> = { readonly value: T } | { readonly allowed: string };

/** Parses the text of a setting. */
export type Parser<T> = (text: string) => Parsed<T>;

const TRUE = new Set(["1", "t", "T", "true", "True", "TRUE"]);
/** Spellings of false in Go. */
export const FALSE: ReadonlySet<string> = new Set(["0", "f", "F", "false", "False", "FALSE"]);

/** The start of a text in quotes, with invisible characters escaped: a terminal could interpret them as commands. */
export function quote(text: string): string {
  const hidden = /\p{C}/gu;
  return JSON.stringify(text.slice(0, 80)).replace(hidden, (character) =>
    [...character].map((one) => `\\u{${(one.codePointAt(0) ?? 0).toString(16)}}`).join(""),
  );
}

/** A valid label selector. Kept as text because options are plain data. */
export const selector: Parser<string> = (value) =>
  parseLabelSelector(value) ? { value } : { allowed: "a label selector such as pool=web,zone in (a,b)" };

/** A line of bounded length without surrounding spaces or invisible characters. Empty means the built-in default. */
export function line(most: number): Parser<string> {
  return (value) =>
    value.length <= most && /^(\S(.*\S)?)?$/.test(value) && !/\p{C}/u.test(value)
      ? { value }
      : { allowed: `a line of at most ${most} characters without leading or trailing spaces` };
}

/** Like `line`, but without any spaces or the characters in `without`. */
export function word(most: number, without = ""): Parser<string> {
  return (value) =>
    value.length <= most && !/[\s\p{C}]/u.test(value) && ![...without].some((character) => value.includes(character))
      ? { value }
      : { allowed: `a word of at most ${most} characters without ${["spaces", ...without].join(" or ")}` };
}

/** A DNS name, as the API server accepts it in the status of a Service; IP addresses are rejected. Empty means none. */
export const hostName: Parser<string> = (value) => {
  const isName = value.length <= 253 && /^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.(?=.)|$))*$/.test(value);
  return isName && !ipaddr.isValid(value) ? { value } : { allowed: "a lower-case DNS name" };
};

/** The same in any case, which DNS does not tell apart. */
export const dnsName: Parser<string> = (value) => hostName(value.toLowerCase());

/** A boolean in Go's syntax. */
export const boolean: Parser<boolean> = (input) => {
  if (TRUE.has(input)) return { value: true };
  return FALSE.has(input) ? { value: false } : { allowed: "true or false" };
};

/** An integer within inclusive bounds. */
export function integer(least: number, most: number): Parser<number> {
  return (input) => {
    const value = Number(input);
    const isFine = /^[+-]?\d+$/.test(input) && value >= least && value <= most;
    return isFine ? { value } : { allowed: `a whole number from ${least} to ${most}` };
  };
}

/** One of the given lower-case words; case-insensitive. */
export function oneOf<const T extends string>(...words: readonly T[]): Parser<T> {
  return (input) => {
    const value = words.find((word) => word === input.toLowerCase());
    return value ? { value } : { allowed: `one of ${words.join(", ")}` };
  };
}

const UNITS_MS: Readonly<Record<string, number>> = {
  h: 3_600_000,
  m: 60_000,
  s: 1_000,
  ms: 1,
  us: 1e-3,
  µs: 1e-3,
  ns: 1e-6,
};

/** A duration in Go's syntax (`15s`, `1m30s`) → whole seconds, rounded down, within inclusive bounds. */
export function seconds(least: number, most: number): Parser<number> {
  return (input) => {
    const value = parseGoSeconds(input);
    const isFine = value !== undefined && value >= least && value <= most;
    return isFine ? { value } : { allowed: `a duration with a unit, from ${least}s to ${most}s` };
  };
}

/** Like `seconds`, for annotations: a bare whole number means seconds, too. */
export function secondsOrNumber(least: number, most: number): Parser<number> {
  const parse = seconds(least, most);
  return (input) => {
    const parsed = parse(/^\d+$/.test(input) ? `${input}s` : input);
    return "value" in parsed ? parsed : { allowed: `a duration such as ${least}s or 1m, from ${least}s to ${most}s` };
  };
}

function parseGoSeconds(input: string): number | undefined {
  if (input === "0") return 0;
  if (!/^\+?((\d+(\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns))+$/.test(input)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of input.matchAll(/([\d.]+)(h|ms|m|s|us|µs|ns)/g)) {
    totalMs += Number(amount) * (UNITS_MS[unit ?? ""] ?? 0);
  }
  // Rounds to nanoseconds, Go's resolution, before truncating: 2.05m is 122.99… s in floating point.
  return Math.floor(Math.round(totalMs * 1e6) / 1e9);
}

/** Comma-separated HTTP status codes, with the API's wildcards. */
export const statusCodes: Parser<readonly string[]> = (input) => {
  const value = input.split(",", 21).map((code) => code.trim());
  const isFine = value.length <= 20 && value.every((code) => /^[0-9?*]{1,3}$/.test(code));
  return isFine ? { value } : { allowed: "up to 20 status codes such as 2??,301" };
};

/** An IPv4 address. */
export const ipv4: Parser<string> = (input) =>
  ipaddr.IPv4.isValidFourPartDecimal(input) ? { value: input } : { allowed: "an IPv4 address" };

/** An IPv4 CIDR, normalised to its network address, as the API writes subnets. */
export const cidr: Parser<string> = (input) => {
  const isCidr = ipaddr.IPv4.isValidCIDRFourPartDecimal(input);
  if (!isCidr) return { allowed: "an IPv4 CIDR such as 10.0.1.0/24" };
  const [, bits] = ipaddr.IPv4.parseCIDR(input);
  return { value: `${ipaddr.IPv4.networkAddressFromCIDR(input)}/${bits}` };
};

/** The id of a load balancer. */
export const id: Parser<number> = (input) =>
  /^[1-9]\d{0,14}$/.test(input) ? { value: Number(input) } : { allowed: "the numeric id of a load balancer" };

const LABEL_NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const MOST_LABELS = 16;

/** Prefixes are DNS names. Some are reserved for the provider, HCCM and us. */
function isLabelKey(key: string): boolean {
  const [name = "", prefix, ...rest] = key.split("/").reverse();
  const isFine = prefix === undefined || (prefix !== "" && "value" in hostName(prefix));
  return rest.length === 0 && LABEL_NAME.test(name) && isFine && !/^(hcloud-ccm|lotse|hetzner\.cloud)\//.test(key);
}

/** Labels that the API accepts. Keys are limited to 56 characters so that `lotse/label-<key>` fits into a label key. */
export const labels: Parser<Readonly<Record<string, string>>> = (input) => {
  const pairs = input === "" ? [] : input.split(",", MOST_LABELS + 1).map((pair) => pair.trim().split("="));
  const isFine = ([key = "", value, ...rest]: readonly string[]) =>
    rest.length === 0 &&
    key.length <= 56 &&
    isLabelKey(key) &&
    value !== undefined &&
    value.length <= 63 &&
    (value === "" || LABEL_NAME.test(value));
  return pairs.length <= MOST_LABELS && pairs.every(isFine)
    ? { value: Object.fromEntries(pairs) }
    : { allowed: `up to ${MOST_LABELS} labels such as team=web,env=prod, with keys of at most 56 characters` };
};
