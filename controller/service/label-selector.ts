/** Kubernetes label selectors, equality and set based: `a=b,c!=d,e in (f,g),h,!i`. */
export type LabelSelector = (labels: Readonly<Record<string, string>>) => boolean;

const KEY = "[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?";
const VALUE = "(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?";
const SET = new RegExp(`^(?<key>${KEY})\\s+(?<operator>in|notin)\\s*\\((?<values>[^()]*)\\)$`);
const EQUALITY = new RegExp(`^(?<key>${KEY})\\s*(?<operator>==|=|!=)\\s*(?<value>${VALUE})$`);
const EXISTENCE = new RegExp(`^(?<negated>!?)\\s*(?<key>${KEY})$`);

/** A selector from its text; nothing when it cannot be parsed. An empty one matches everything. */
export function parseLabelSelector(text: string): LabelSelector | undefined {
  if (text.trim() === "") return () => true;
  const terms = splitTerms(text).map((term) => parseTerm(term.trim()));
  if (!terms.every((term) => term !== undefined)) return undefined;
  return (labels) => terms.every((term) => term(labels));
}

/** Splits at commas outside of parentheses. */
function splitTerms(text: string): readonly string[] {
  return text.split(/,(?![^()]*\))/);
}

function parseTerm(term: string): LabelSelector | undefined {
  const set = SET.exec(term)?.groups;
  if (set) {
    const values = (set.values ?? "").split(",").map((value) => value.trim());
    if (!values.every((value) => new RegExp(`^${VALUE}$`).test(value))) return undefined;
    return membership(set.key ?? "", values, set.operator === "in");
  }
  const equality = EQUALITY.exec(term)?.groups;
  if (equality) return membership(equality.key ?? "", [equality.value ?? ""], equality.operator !== "!=");
  const existence = EXISTENCE.exec(term)?.groups;
  if (!existence) return undefined;
  const key = existence.key ?? "";
  const isWanted = existence.negated === "";
  return (labels) => Object.hasOwn(labels, key) === isWanted;
}

/** A key that is absent is in no set, so it satisfies every negated term. */
function membership(key: string, values: readonly string[], isIn: boolean): LabelSelector {
  return (labels) => {
    const value = Object.hasOwn(labels, key) ? labels[key] : undefined;
    return (value !== undefined && values.includes(value)) === isIn;
  };
}
