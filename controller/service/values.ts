/** Texts of annotations and environment variables → values. A parser returns its value, or says what it allows. */
import ipaddr from "ipaddr.js";

export type Parsed<T> = { readonly value: T } | { readonly allowed: string };

export type Parser<T> = (text: string) => Parsed<T>;

const TRUE = new Set(["1", "t", "T", "true", "True", "TRUE"]);
const FALSE = new Set(["0", "f", "F", "false", "False", "FALSE"]);

export const text: Parser<string> = (value) => ({ value });

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
  if (!/^(\d+(\.\d+)?(h|ms|m|s|us|µs|ns))+$/.test(input)) return undefined;
  let total = 0;
  for (const [, amount, unit] of input.matchAll(/(\d+(?:\.\d+)?)(h|ms|m|s|us|µs|ns)/g)) {
    total += Number(amount) * (UNITS_MS[unit ?? ""] ?? 0);
  }
  return Math.floor(total / 1000);
}

/** Comma-separated texts; nothing is trimmed. */
export const list: Parser<readonly string[]> = (input) => ({ value: input.split(",") });

export const ipv4: Parser<string> = (input) =>
  ipaddr.IPv4.isValidFourPartDecimal(input) ? { value: input } : { allowed: "an IPv4 address" };
