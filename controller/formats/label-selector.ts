/** Kubernetes label selectors, equality-based, set-based and by number: `a=b,c!=d,e in (f,g),h,!i,j>5`. */

/** Whether labels match. */
export type LabelSelector = (labels: Readonly<Record<string, string>>) => boolean;

// Annotations hold up to 256 KiB of any text: no pattern may backtrack over more than one run of spaces.
const WORD = "[^\\s=!(),<>]+";
const SET = new RegExp(`^(?<key>${WORD})\\s+(?<operator>in|notin)\\s*\\((?<values>[^()]*)\\)$`);
const EQUALITY = new RegExp(`^(?<key>${WORD})\\s*(?<operator>==|=|!=)\\s*(?<value>(?:${WORD})?)$`);
const COMPARISON = new RegExp(`^(?<key>${WORD})\\s*(?<comparison>[<>])\\s*(?<limit>\\d{1,18})$`);
const EXISTENCE = new RegExp(`^(?<negated>!?)\\s*(?<key>${WORD})$`);
/** A comma that is not in parentheses. Selectors are short enough to look ahead at each. */
const OUTER_COMMA = /,(?![^(]*\))/;
const NAME = /^[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/;
const DNS_LABEL = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * Parses a selector. Undefined when it is malformed or contains a key or value that no label can have: such a selector
 * would match no node and leave a load balancer without targets. So is one that is too long. An empty selector matches
 * everything.
 */
export function parseLabelSelector(text: string): LabelSelector | undefined {
  if (text.length > MAX_LENGTH) return undefined;
  if (!known.has(text)) {
    if (known.size === MOST_KNOWN) known.clear();
    known.set(text, parse(text));
  }
  return known.get(text);
}

/** Selectors by text: the same selector for all Services with the same text, so that targets can be shared. */
const known = new Map<string, LabelSelector | undefined>();
const MOST_KNOWN = 1_000;
/** Every term is evaluated for every node. */
const MAX_LENGTH = 2_000;

function parse(text: string): LabelSelector | undefined {
  if (text.trim() === "") return () => true;
  const terms: LabelSelector[] = [];
  for (const part of text.split(OUTER_COMMA)) {
    const term = parseTerm(part.trim());
    if (!term) return undefined;
    terms.push(term);
  }
  return (labels) => terms.every((term) => term(labels));
}

function parseTerm(term: string): LabelSelector | undefined {
  const groups = [SET, EQUALITY, COMPARISON, EXISTENCE].map((form) => form.exec(term)).find((found) => found)?.groups;
  if (!groups || !isKey(groups.key ?? "")) return undefined;
  const { key = "", operator, values, value, negated, comparison, limit } = groups;
  if (limit !== undefined) return comparing(key, comparison === ">", BigInt(limit));
  if (operator === undefined) return (labels) => Object.hasOwn(labels, key) === (negated === "");
  const allowed = values === undefined ? [value ?? ""] : values.split(",").map((text) => text.trim());
  return allowed.every(isValue) ? membership(key, allowed, operator !== "notin" && operator !== "!=") : undefined;
}

/** An absent key is in no set, so it satisfies every negated term. */
function membership(key: string, values: readonly string[], isIn: boolean): LabelSelector {
  return (labels) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    return (value !== undefined && values.includes(value)) === isIn;
  };
}

/** Only a number is more or less than the limit. */
function comparing(key: string, isMore: boolean, limit: bigint): LabelSelector {
  return (labels) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    if (value === undefined || !/^\d{1,18}$/.test(value)) return false;
    return isMore ? BigInt(value) > limit : BigInt(value) < limit;
  };
}

/** A name, optionally prefixed with a DNS subdomain and a slash. */
function isKey(key: string): boolean {
  const slash = key.indexOf("/");
  if (slash < 0) return NAME.test(key);
  const prefix = key.slice(0, slash);
  return (
    prefix.length <= 253 && prefix.split(".").every((label) => DNS_LABEL.test(label)) && NAME.test(key.slice(slash + 1))
  );
}

function isValue(value: string): boolean {
  return value === "" || NAME.test(value);
}
