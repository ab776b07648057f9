/** Texts of annotations and environment variables → values. A parser returns its value, or says what it allows. */
import ipaddr from "ipaddr.js";

export type Parsed<T> = { readonly value: T } | { readonly allowed: string };

export type Parser<T> = (text: string) => Parsed<T>;

const TRUE = new Set(["1", "t", "T", "true", "True", "TRUE"]);
const FALSE = new Set(["0", "f", "F", "false", "False", "FALSE"]);

/** Any text: whoever uses it checks it. */
export const text: Parser<string> = (value) => ({ value });

/** One line as the API takes it: bounded, no blanks around it, nothing invisible. Empty means the built-in default. */
export function line(most: number): Parser<string> {
  return (value) =>
    value.length <= most && /^(\S(.*\S)?)?$/.test(value) && !/\p{C}/u.test(value)
      ? { value }
      : { allowed: `a line of at most ${most} characters without blanks around it` };
}

/** As `line`, without blanks inside or any of the other characters. */
export function word(most: number, without = ""): Parser<string> {
  return (value) =>
    value.length <= most && !/[\s\p{C}]/u.test(value) && ![...without].some((character) => value.includes(character))
      ? { value }
      : {
          allowed: `a word of at most ${most} characters without blanks${[...without].map((c) => ` or ${c}`).join("")}`,
        };
}

/** A name that the status of a Service may carry: an address has no place there. Empty means none. */
export const hostName: Parser<string> = (value) => {
  const isName = value.length <= 253 && /^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?(\.(?=.)|$))*$/.test(value);
  return isName && !ipaddr.isValid(value) ? { value } : { allowed: "a lower-case DNS name" };
};

export const boolean: Parser<boolean> = (input) => {
  if (TRUE.has(input)) return { value: true };
  return FALSE.has(input) ? { value: false } : { allowed: "true or false" };
};

/** Whole number within bounds, both included. */
export function integer(least: number, most: number): Parser<number> {
  return (input) => {
    const value = Number(input);
    const isFine = /^[+-]?\d+$/.test(input) && value >= least && value <= most;
    return isFine ? { value } : { allowed: `a whole number from ${least} to ${most}` };
  };
}

/** One of some words, in any case. */
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

/** A duration in Go's syntax (`15s`, `1m30s`), cut to whole seconds, within bounds. */
export function seconds(least: number, most: number): Parser<number> {
  return (input) => {
    const value = parseGoSeconds(input);
    const isFine = value !== undefined && value >= least && value <= most;
    return isFine ? { value } : { allowed: `a duration with unit from ${least}s to ${most}s, such as ${least}s` };
  };
}

function parseGoSeconds(input: string): number | undefined {
  if (input === "0") return 0;
  if (!/^\+?((\d+(\.\d*)?|\.\d+)(h|ms|m|s|us|µs|ns))+$/.test(input)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of input.matchAll(/([\d.]+)(h|ms|m|s|us|µs|ns)/g)) {
    totalMs += Number(amount) * (UNITS_MS[unit ?? ""] ?? 0);
  }
  // Whole nanoseconds, Go's resolution, before the cut: 2.05m is 122.99… s in floating point.
  return Math.floor(Math.round(totalMs * 1e6) / 1e9);
}

/** Comma-separated status codes with the API's wildcards. */
export const statusCodes: Parser<readonly string[]> = (input) => {
  const value = input.split(",", 21).map((code) => code.trim());
  const isFine = value.length <= 20 && value.every((code) => /^[0-9?*]{1,3}$/.test(code));
  return isFine ? { value } : { allowed: "up to 20 status codes such as 2??,301" };
};

export const ipv4: Parser<string> = (input) =>
  ipaddr.IPv4.isValidFourPartDecimal(input) ? { value: input } : { allowed: "an IPv4 address" };
