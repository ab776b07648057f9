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

/** A label map: Kubernetes-like keys and values, the prefix `hetzner.cloud/` is Hetzner's own. */
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
 * `!=` and `notin` also select resources that lack the key. Undefined when the text is no selector.
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

/** The secondary key under which rows with this label are found. */
export function labelKey(key: string, value: string): string {
  return `label/${key}=${value}`;
}

/** The key of one label every selected resource must have, if the selector demands one: it narrows the search. */
export function requiredLabelKey(text: string): string | undefined {
  for (const part of splitTerms(text)) {
    const [, key, operator, value] = EQUALITY_TERM.exec(part.trim()) ?? [];
    if (key !== undefined && value !== undefined && operator !== "!=") return labelKey(key, value);
  }
  return undefined;
}

/** The secondary key of a row that holds a selector: by the label it demands, if any. */
export function selectorKey(text: string): string {
  return `selector/${requiredLabelKey(text) ?? "*"}`;
}

/** The keys under which every row is found whose selector could select these labels. */
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

/** A selector from a query, a body or a row, parsed once; a bad one is the caller's mistake. */
export function selectorOf(text: string, field = "label_selector"): Selector {
  const selector = parsed.get(text) ?? parseSelector(text);
  if (!selector) throw invalidField(field, "Label selector is invalid.");
  if (parsed.size >= 1000) parsed.clear();
  parsed.set(text, selector);
  return selector;
}
