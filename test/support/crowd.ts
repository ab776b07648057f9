/** Random Services, most valid, some invalid, some hostile, with the expected result of each. */
import fc from "fast-check";
import { hostileText } from "./hostile.ts";

type Values = Readonly<Partial<Record<string, string>>>;

/** One Service. Annotations omit the prefix. */
export interface Member {
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly ports: readonly number[];
  /** Invalid annotations. They prevent the creation of a load balancer. */
  readonly broken: readonly string[];
  /** Unknown annotations. They are reported, and have no other effect. */
  readonly misspelt: readonly string[];
  /** Whether it belongs to another controller. */
  readonly isForeign: boolean;
}

const boolean = fc.constantFrom("true", "false", "1", "F");
const seconds = (min: number, max: number) => fc.integer({ min, max }).map((value) => `${value}s`);

const RIGHT = {
  "algorithm-type": fc.constantFrom("round_robin", "least_connections", "LEAST_CONNECTIONS"),
  type: fc.constantFrom("lb11", "lb21", "lb31"),
  labels: fc.constantFrom("team=crowd", "team=other"),
  "ipv4-rdns": fc.constantFrom("crowd.example.com", "other.example.com"),
  "use-private-ip": boolean,
  "node-selector": fc.constantFrom("pool=a", "pool in (a,b)", "!pool"),
  protocol: fc.constantFrom("tcp", "http", "HTTP"),
  "uses-proxyprotocol": boolean,
  "http-sticky-sessions": boolean,
  "http-cookie-name": fc.constantFrom("LB", "session"),
  "http-cookie-lifetime": seconds(30, 86_400),
  "http-timeout-idle": seconds(30, 300),
  "health-check-protocol": fc.constantFrom("tcp", "http"),
  "health-check-interval": seconds(3, 60),
  "health-check-timeout": seconds(1, 60),
  "health-check-retries": fc.integer({ min: 1, max: 5 }).map(String),
  "health-check-http-path": fc.constantFrom("/", "/healthz", "/a?b=c"),
  hostname: fc.constantFrom("crowd.example.com"),
  "ipv6-disabled": boolean,
  "disable-private-ingress": boolean,
};

/** A value that is invalid for every option with a syntax. */
const wrongText = fc.oneof(
  fc.constantFrom("yes", "tpc", "-1", "1h59", "99999999999999999999", "🦊", "true\n", " true", "1.2.3"),
  hostileText.filter((text) => text === "" || /[^\w+.-]/.test(text)),
);
const STRICT = [
  "algorithm-type",
  "use-private-ip",
  "protocol",
  "uses-proxyprotocol",
  "http-cookie-lifetime",
  "health-check-protocol",
  "health-check-interval",
  "health-check-retries",
  "private-ipv4",
];
const WRONG: Readonly<Record<string, fc.Arbitrary<string>>> = {
  ...Object.fromEntries(STRICT.map((annotation) => [annotation, wrongText])),
  type: fc.constantFrom("lb99", "LB11"),
  location: fc.constantFrom("atlantis", "fsn1-dc14"),
  "node-selector": fc.constantFrom("pool in (a", "=a", "a=b=c", "!!"),
};

const wrongPair = fc
  .constantFrom(...Object.keys(WRONG))
  .chain((annotation) => fc.tuple(fc.constant(annotation), WRONG[annotation] ?? wrongText));
const misspelt = fc.constantFrom("algoritm-type", "Protocol", "health-check-inteval", "8080.type", "x.y.z");

/** Mostly nothing, otherwise some. */
const seldom = <T>(weight: number, some: fc.Arbitrary<readonly T[]>): fc.Arbitrary<readonly T[]> =>
  fc.oneof({ weight, arbitrary: fc.constant([]) }, { weight: 1, arbitrary: some });

const member = fc.record({
  right: fc.record(RIGHT, { requiredKeys: [] }),
  wrong: seldom(2, fc.uniqueArray(wrongPair, { minLength: 1, maxLength: 2, selector: ([annotation]) => annotation })),
  misspelt: seldom(
    5,
    misspelt.map((key) => [key]),
  ),
  isForeign: fc.integer({ min: 0, max: 15 }).map((dice) => dice === 0),
  ports: fc.constantFrom([80], [80, 443], [8_080, 8_081, 8_082]),
});

/** Generates Services; the same seed gives the same Services. */
export function aCrowd(size: number, seed: number): readonly Member[] {
  return fc.sample(member, { numRuns: size, seed }).map(({ right, wrong, misspelt, isForeign, ports }, index) => ({
    name: `member-${index}`,
    annotations: {
      location: "fsn1",
      ...right,
      ...Object.fromEntries(wrong),
      ...Object.fromEntries(misspelt.map((key) => [key, "true"])),
    },
    ports,
    broken: wrong.map(([annotation]) => annotation),
    misspelt,
    isForeign,
  }));
}

/** The nodes, by their label `pool`; undefined means no label. */
export const POOLS: Readonly<Record<string, string | undefined>> = {
  "node-1": "a",
  "node-2": "b",
  "node-3": undefined,
};

/** The expected load balancer of a Service, from an independent interpretation of its annotations. */
export function wantedFacts({ annotations, ports }: Member) {
  const values: Values = annotations;
  const protocol = (values.protocol ?? "tcp").toLowerCase();
  const isChecked = Object.keys(values).some((annotation) => annotation.startsWith("health-check-"));
  const check = values["health-check-protocol"] ?? (isChecked ? protocol : "tcp");
  const listener = {
    protocol,
    proxyprotocol: isTrue(values["uses-proxyprotocol"]),
    ...(protocol === "http" && {
      sticky: isTrue(values["http-sticky-sessions"]),
      cookie: values["http-cookie-name"] ?? "HCLBSTICKY",
      lifetime: Number.parseInt(values["http-cookie-lifetime"] ?? "300", 10),
      idle: Number.parseInt(values["http-timeout-idle"] ?? "50", 10),
    }),
    check,
    interval: Number.parseInt(values["health-check-interval"] ?? "15", 10),
    timeout: Number.parseInt(values["health-check-timeout"] ?? "10", 10),
    retries: Number(values["health-check-retries"] ?? 3),
    ...(check === "http" && { path: values["health-check-http-path"] ?? "/" }),
  };
  return {
    type: values.type ?? "lb11",
    algorithm: (values["algorithm-type"] ?? "round_robin").toLowerCase(),
    team: values.labels?.replace("team=", ""),
    rdns: values["ipv4-rdns"],
    isPrivate: isTrue(values["use-private-ip"]),
    nodes: SELECTED[values["node-selector"] ?? ""] ?? Object.keys(POOLS),
    listeners: ports.map((port) => ({ port, ...listener })),
    ingress: values.hostname
      ? [values.hostname]
      : [
          "ipv4",
          ...(isTrue(values["ipv6-disabled"]) ? [] : ["ipv6"]),
          ...(isTrue(values["disable-private-ingress"]) ? [] : ["private"]),
        ],
  };
}

const SELECTED: Readonly<Record<string, readonly string[]>> = {
  "pool=a": ["node-1"],
  "pool in (a,b)": ["node-1", "node-2"],
  "!pool": ["node-3"],
};

function isTrue(value: string | undefined): boolean {
  return value === "true" || value === "1";
}
