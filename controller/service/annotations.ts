/** Every option of a Service: its annotation, its cluster-wide default, its syntax and its meaning, in one table. */
import {
  boolean,
  hostName,
  integer,
  ipv4,
  line,
  oneOf,
  type Parser,
  seconds,
  statusCodes,
  text,
  word,
} from "./values.ts";

export const PREFIX = "load-balancer.hetzner.cloud/";
const ENV_PREFIX = "HCLOUD_LOAD_BALANCERS_";

interface Option<T> {
  readonly annotation: string;
  readonly parse: Parser<T>;
  /** Environment variable with the cluster-wide default, without its prefix. */
  readonly env?: string;
  readonly doc: string;
}

const option = <T>(annotation: string, parse: Parser<T>, doc: string, env?: string): Option<T> => ({
  annotation,
  parse,
  doc,
  ...(env !== undefined && { env }),
});

const protocol = oneOf("tcp", "http", "https");

export const OPTIONS = {
  name: option("name", line(128), "name of the balancer; default `a` and the Service's uid"),
  location: option("location", word(64), "location of a new balancer", "LOCATION"),
  networkZone: option(
    "network-zone",
    word(64),
    "network zone of a new balancer, when no location is set",
    "NETWORK_ZONE",
  ),
  type: option("type", word(64), "type of the balancer; default lb11", "TYPE"),
  algorithm: option(
    "algorithm-type",
    oneOf("round_robin", "least_connections"),
    "how targets are chosen; default round_robin",
    "ALGORITHM_TYPE",
  ),
  disablePublicNetwork: option(
    "disable-public-network",
    boolean,
    "switch the public interface off",
    "DISABLE_PUBLIC_NETWORK",
  ),
  privateIpv4: option("private-ipv4", ipv4, "wanted address in the cluster's network"),
  usePrivateIp: option("use-private-ip", boolean, "reach nodes over the cluster's network", "USE_PRIVATE_IP"),
  disablePrivateIngress: option(
    "disable-private-ingress",
    boolean,
    "keep private addresses out of the status",
    "DISABLE_PRIVATE_INGRESS",
  ),
  ipv6Disabled: option("ipv6-disabled", boolean, "keep the IPv6 address out of the status", "DISABLE_IPV6"),
  hostname: option("hostname", hostName, "host name for the status, instead of addresses"),
  nodeSelector: option("node-selector", text, "label selector for the nodes that become targets"),
  protocol: option("protocol", protocol, "protocol of all ports; default tcp"),
  proxyProtocol: option("uses-proxyprotocol", boolean, "send the PROXY protocol to nodes", "USES_PROXYPROTOCOL"),
  cookieName: option("http-cookie-name", word(100), "cookie of sticky sessions"),
  cookieLifetime: option("http-cookie-lifetime", seconds(30, 86_400), "lifetime of that cookie"),
  timeoutIdle: option("http-timeout-idle", seconds(30, 300), "idle timeout of http connections"),
  redirectHttp: option("http-redirect-http", boolean, "redirect http to https"),
  stickySessions: option("http-sticky-sessions", boolean, "keep a client on one node"),
  healthCheckProtocol: option("health-check-protocol", oneOf("tcp", "http", "https"), "protocol of health checks"),
  healthCheckPort: option("health-check-port", integer(1, 65_535), "port of health checks; default the node port"),
  healthCheckInterval: option(
    "health-check-interval",
    seconds(3, 60),
    "time between health checks",
    "HEALTH_CHECK_INTERVAL",
  ),
  healthCheckTimeout: option("health-check-timeout", seconds(1, 60), "time for an answer", "HEALTH_CHECK_TIMEOUT"),
  healthCheckRetries: option(
    "health-check-retries",
    integer(1, 5),
    "failures before a target is out",
    "HEALTH_CHECK_RETRIES",
  ),
  healthCheckDomain: option("health-check-http-domain", word(128, "%\\"), "Host header of http health checks"),
  healthCheckPath: option("health-check-http-path", word(256), "path of http health checks"),
  healthCheckTls: option("health-check-http-validate-certificate", boolean, "check over https"),
  healthCheckStatusCodes: option("http-status-codes", statusCodes, "status codes that mean healthy, such as `2??,301`"),
} as const;

type OptionName = keyof typeof OPTIONS;
type ValueOf<O> = O extends Option<infer T> ? T : never;

/** The options of one Service, or the cluster-wide defaults. Absent means not set anywhere. */
export type ServiceOptions = { readonly [K in OptionName]?: ValueOf<(typeof OPTIONS)[K]> };

/** Values, and every mistake found on the way: what was set, to what, and what is allowed. */
export interface ParsedOptions {
  readonly options: ServiceOptions;
  readonly mistakes: readonly string[];
}

/** A Service's options: its annotations over the cluster-wide defaults. An annotation that is set but empty counts as set. */
export function parseAnnotations(
  annotations: Readonly<Record<string, string>>,
  defaults: ServiceOptions,
): ParsedOptions {
  const own = parseEach(({ annotation }) => [`annotation ${PREFIX}${annotation}`, annotations[PREFIX + annotation]]);
  return { options: { ...defaults, ...own.options }, mistakes: [...own.mistakes, ...unknownAnnotations(annotations)] };
}

/** The cluster-wide defaults from the environment. A variable that is set but empty counts as not set. */
export function parseDefaults(env: Readonly<Record<string, string | undefined>>): ParsedOptions {
  return parseEach(({ env: variable }) => {
    if (variable === undefined) return ["", undefined];
    return [ENV_PREFIX + variable, env[ENV_PREFIX + variable]?.trim() || undefined];
  });
}

function parseEach(
  lookUp: (option: Option<unknown>) => readonly [source: string, text: string | undefined],
): ParsedOptions {
  const options: Record<string, unknown> = {};
  const mistakes: string[] = [];
  for (const [name, option] of Object.entries(OPTIONS)) {
    const [source, input] = lookUp(option);
    if (input === undefined) continue;
    const parsed = option.parse(input);
    if ("value" in parsed) options[name] = parsed.value;
    else mistakes.push(`${source}: ${JSON.stringify(input.slice(0, 80))} is not ${parsed.allowed}`);
  }
  return { options, mistakes };
}

/** Notes of the official controller that its documentation mentions and nobody reads (HCCM A37). */
const NOTES = ["id", "ipv4", "ipv6"];
const KNOWN = new Set(
  [...Object.values(OPTIONS).map(({ annotation }) => annotation), ...NOTES].map((key) => PREFIX + key),
);

function unknownAnnotations(annotations: Readonly<Record<string, string>>): readonly string[] {
  return Object.keys(annotations)
    .filter((key) => key.startsWith(PREFIX) && !KNOWN.has(key))
    .map((key) => `annotation ${key}: not supported by this version`);
}
