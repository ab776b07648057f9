/** Worker pools, as they are written in a setting: a list in YAML or JSON, which is YAML, too. */
import { parse } from "yaml";
import { LABEL, LABEL_VALUE, typeName } from "./setting-values.ts";

/** Workers of one type, with labels and taints of their nodes. */
export interface Pool {
  readonly name: string;
  readonly count: number;
  /** Server type. */
  readonly type: string;
  readonly labels: Readonly<Record<string, string>>;
  /** Such as `dedicated=gpu:NoSchedule`. */
  readonly taints: readonly string[];
}

/** Machines in one pool, as many as a placement group takes. */
export const MAX_WORKERS = 10;

/** Pools that the subnet has addresses for. */
const MAX_POOLS = 20;
const RESERVED = ["worker", "control-plane", "network", "firewall", "ssh-key", "api"];
const TAINT = /^(?<key>[^=:]+)(=(?<value>[^:]*))?:(NoSchedule|PreferNoSchedule|NoExecute)$/;

type Entry = Readonly<Record<string, unknown>>;

/** The fields of a pool: what is allowed, and a check. */
const FIELDS: Readonly<Record<string, readonly [allowed: string, isFine: (value: unknown) => boolean]>> = {
  name: [
    `a name of at most 20 lower-case letters, digits and dashes other than ${RESERVED.join(", ")}`,
    (name) => /^[a-z]([a-z0-9-]{0,18}[a-z0-9])?$/.test(String(name)) && !RESERVED.includes(String(name)),
  ],
  count: [
    `a whole number from 0 to ${MAX_WORKERS}`,
    (count) => typeof count === "number" && Number.isInteger(count) && count >= 0 && count <= MAX_WORKERS,
  ],
  type: ["a server type such as cx23", (type) => type === undefined || "value" in typeName(String(type))],
  labels: ["a map of labels", (labels) => isMap(labels ?? {}) && Object.entries(labels ?? {}).every(isLabel)],
  taints: [
    "a list of taints such as dedicated=gpu:NoSchedule",
    (taints) => taints === undefined || (Array.isArray(taints) && taints.every(isTaint)),
  ],
};

/** Parses the pools in a setting. Calls `report` for every mistake, beginning with the place inside the setting. */
export function parsePools(text: string, fallbackType: string, report: (mistake: string) => void): readonly Pool[] {
  const list = readList(text);
  if (!list) report(`: is not a list of at most ${MAX_POOLS} pools, each with a name and a count`);
  return (list ?? []).map((entry, index) => {
    for (const field of new Set([...Object.keys(FIELDS), ...Object.keys(entry)])) {
      const [allowed, isFine] = FIELDS[field] ?? [`one of ${Object.keys(FIELDS).join(", ")}`, () => false];
      const given = field in FIELDS ? JSON.stringify(entry[field]) : field;
      if (!isFine(entry[field])) report(`[${index}].${field}: ${given} is not ${allowed}`);
    }
    if (list?.findIndex(({ name }) => name === entry.name) !== index)
      report(`[${index}].name: ${JSON.stringify(entry.name)} is used twice`);
    const { name, count, type = fallbackType, labels = {}, taints = [] } = entry as unknown as Pool;
    const texts = Object.entries(labels).map(([key, value]) => [key, String(value)]);
    return { name, count, type, labels: Object.fromEntries(texts), taints };
  });
}

function readList(text: string): readonly Entry[] | undefined {
  try {
    const list: unknown = parse(text || "[]");
    return Array.isArray(list) && list.length <= MAX_POOLS && list.every(isMap) ? list : undefined;
  } catch {
    return undefined; // reported by the caller
  }
}

function isMap(value: unknown): value is Entry {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function isLabel([key, value]: readonly [string, unknown]): boolean {
  return LABEL.test(key) && LABEL_VALUE.test(String(value));
}

function isTaint(taint: unknown): boolean {
  const { key, value = "" } = TAINT.exec(String(taint))?.groups ?? {};
  return key !== undefined && isLabel([key, value]);
}
