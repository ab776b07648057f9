/** Worker pools, as they are written in a setting: a list in YAML or JSON, which is YAML, too. */
import { parse } from "yaml";
import { typeName } from "./setting-values.ts";

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
const COUNTS: readonly unknown[] = [...Array(MAX_WORKERS + 1).keys()];
const NAME = /^(?!control-plane)[a-z]([a-z0-9-]{0,18}[a-z0-9])?$/;
const RESERVED = ["worker", "network", "firewall", "ssh-key", "api"];
const KEY = "([a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?/)?[A-Za-z0-9]([\\w.-]{0,61}[A-Za-z0-9])?";
const VALUE = "([A-Za-z0-9]([\\w.-]{0,61}[A-Za-z0-9])?)?";
const LABEL = new RegExp(`^${KEY}=${VALUE}$`);
const TAINT = new RegExp(`^${KEY}(=${VALUE})?:(NoSchedule|PreferNoSchedule|NoExecute)$`);

/** Labels that Kubernetes reserves, except for those that a kubelet may set. With any other of them, it does not start. */
const RESERVED_LABEL = /^(?!([^/]+\.)?(kubelet|node)\.kubernetes\.io\/)([^/]+\.)?(kubernetes|k8s)\.io\//;

type Entry = Readonly<Record<string, unknown>>;

/** The fields of a pool: what is allowed, and a check. */
const FIELDS: Readonly<Record<string, readonly [allowed: string, isFine: (value: unknown) => boolean]>> = {
  name: [
    `a name of at most 20 lower-case letters, digits and dashes other than ${RESERVED.join(", ")} and control-plane…`,
    (name) => NAME.test(String(name)) && !RESERVED.includes(String(name)),
  ],
  count: [`a whole number from 0 to ${MAX_WORKERS}`, (count) => COUNTS.includes(count)],
  type: ["a server type such as cx23", (type) => "value" in typeName(String(type))],
  labels: [
    "a map of labels that a kubelet may set: none of kubernetes.io and k8s.io except node.kubernetes.io",
    (it) =>
      isMap(it) &&
      Object.entries(it).every(([key, value]) => LABEL.test(`${key}=${value}`) && !RESERVED_LABEL.test(key)),
  ],
  taints: [
    "a list of taints such as dedicated=gpu:NoSchedule",
    (it) => Array.isArray(it) && it.every((taint) => TAINT.test(taint)),
  ],
};
const NO_FIELD = [`one of ${Object.keys(FIELDS).join(", ")}`, () => false] as const;

/** Parses the pools in a setting. Calls `report` for every mistake, beginning with the place inside the setting. */
export function parsePools(text: string, fallbackType: string, report: (mistake: string) => void): readonly Pool[] {
  const list = readList(text);
  if (!list) report(`: is not a list of at most ${MAX_POOLS} pools, each with a name and a count`);
  return (list ?? []).map((given, index) => {
    const entry: Entry = { name: undefined, count: undefined, type: fallbackType, labels: {}, taints: [], ...given };
    for (const [field, value] of Object.entries(entry)) {
      const [allowed, isFine] = FIELDS[field] ?? NO_FIELD;
      const shown = field in FIELDS ? JSON.stringify(value) : field;
      if (!isFine(value)) report(`[${index}].${field}: ${shown} is not ${allowed}`);
    }
    if (list?.findIndex(({ name }) => name === entry.name) !== index)
      report(`[${index}].name: ${JSON.stringify(entry.name)} is used twice`);
    const { labels, ...pool } = entry as unknown as Pool;
    const texts = Object.entries(labels ?? {}).map(([key, value]) => [key, String(value)]);
    return { ...pool, labels: Object.fromEntries(texts) };
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
