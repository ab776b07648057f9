/** Labels and label selectors. */
import { invalidField } from "./errors.ts";
import { type Check, reject } from "./schema.ts";

/** Labels of a resource. */
export type Labels = Readonly<Record<string, string>>;

/** Decides whether a resource with these labels is selected. */
export type Selector = (labels: Labels) => boolean;

const NAME = /^[A-Za-z0-9]([A-Za-z0-9._-]{0,61}[A-Za-z0-9])?$/;
const PREFIX = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

function isLabelKey(key: string): boolean {
  const slash = key.indexOf("/");
  if (slash < 0) return NAME.test(key);
  return PREFIX.test(key.slice(0, slash)) && NAME.test(key.slice(slash + 1));
}

function isLabelValue(value: string): boolean {
  return value === "" || NAME.test(value);
}

/** Labels with keys and values like those of Kubernetes. The prefix `hetzner.cloud/` is reserved. */
export const labels: Check<Labels> = (value, path) => {
  if (typeof value !== "object" || value === null || Array.isArray(value)) return reject(path, "Must be an object.");
  const entries: [string, string][] = [];
  for (const [key, text] of Object.entries(value)) {
    if (!isLabelKey(key)) return reject(path, `Label key '${key}' is invalid.`);
    if (key.startsWith("hetzner.cloud/")) return reject(path, "Label prefix 'hetzner.cloud/' is reserved.");
    if (typeof text !== "string" || !isLabelValue(text)) return reject(path, `Value of label '${key}' is invalid.`);
    entries.push([key, text]);
  }
  return Object.fromEntries(entries);
};

const KEY = "[A-Za-z0-9][A-Za-z0-9._/-]*";
const SET_TERM = new RegExp(String.raw`^(${KEY})\s+(in|notin)\s*\(([^()]*)\)$`);
const EQUALITY_TERM = new RegExp(String.raw`^(${KEY})\s*(==|=|!=)\s*([A-Za-z0-9._-]*)$`);
const PRESENCE_TERM = new RegExp(String.raw`^(!?)\s*(${KEY})$`);

/**
 * Parses the full grammar, comma meaning AND: `k=v`, `k==v`, `k!=v`, `k`, `!k`, `k in (a,b)`, `k notin (a,b)`.
 * `!=` and `notin` also select resources without the key. Undefined if the text is not a selector.
 */
export function parseSelector(text: string): Selector | undefined {
  const terms: Selector[] = [];
  for (const part of splitTerms(text)) {
    const term = parseTerm(part.trim());
    if (!term) return undefined;
    terms.push(term);
  }
  return (labelMap) => terms.every((term) => term(labelMap));
}

/** The secondary key of rows with this label. */
export function labelKey(key: string, value: string): string {
  return `label/${key}=${value}`;
}

/** The secondary key of a label that the selector requires, if any. It narrows the search. */
export function requiredLabelKey(text: string): string | undefined {
  for (const part of splitTerms(text)) {
    const [, key, operator, value] = EQUALITY_TERM.exec(part.trim()) ?? [];
    if (key !== undefined && value !== undefined && operator !== "!=") return labelKey(key, value);
  }
  return undefined;
}

/** The secondary key of a row that contains a selector. */
export function selectorKey(text: string): string {
  return `selector/${requiredLabelKey(text) ?? "*"}`;
}

/** Secondary keys of all rows whose selector might match these labels. */
export function selectorKeysFor(labelMap: Labels): readonly string[] {
  return ["selector/*", ...Object.entries(labelMap).map(([key, value]) => `selector/${labelKey(key, value)}`)];
}

/** Splits at commas outside parentheses. */
function splitTerms(text: string): readonly string[] {
  return text.split(/,(?![^()]*\))/);
}

function parseTerm(term: string): Selector | undefined {
  const set = SET_TERM.exec(term);
  if (set) return parseSetTerm(set[1] ?? "", set[2] === "in", set[3] ?? "");
  const equality = EQUALITY_TERM.exec(term);
  if (equality) return parseEqualityTerm(equality[1] ?? "", equality[2] ?? "", equality[3] ?? "");
  const presence = PRESENCE_TERM.exec(term);
  if (!presence || !isLabelKey(presence[2] ?? "")) return undefined;
  const [, not, key = ""] = presence;
  return not ? (map) => !Object.hasOwn(map, key) : (map) => Object.hasOwn(map, key);
}

function parseEqualityTerm(key: string, operator: string, value: string): Selector | undefined {
  if (!isLabelKey(key) || !isLabelValue(value)) return undefined;
  if (operator === "!=") return (map) => map[key] !== value;
  return (map) => map[key] === value;
}

function parseSetTerm(key: string, wanted: boolean, list: string): Selector | undefined {
  const values = list.split(",").map((value) => value.trim());
  if (!isLabelKey(key) || !values.every(isLabelValue)) return undefined;
  const set = new Set(values);
  return (map) => {
    const value = map[key];
    return wanted ? value !== undefined && set.has(value) : value === undefined || !set.has(value);
  };
}

const parsed = new Map<string, Selector>();

/** Parses a selector, with a cache. Throws `invalid_input` if it is invalid. */
export function selectorOf(text: string, field = "label_selector"): Selector {
  const selector = parsed.get(text) ?? parseSelector(text);
  if (!selector) throw invalidField(field, "Label selector is invalid.");
  if (parsed.size >= 1000) parsed.clear();
  parsed.set(text, selector);
  return selector;
}
