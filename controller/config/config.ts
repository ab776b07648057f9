/** Flags and environment → a frozen Config. Every mistake is reported at once. */
import type { ApprovalMode } from "../cluster/approval.ts";
import { GUARD_LIMITS, type GuardLimits } from "../cluster/guard.ts";
import { ConfigError } from "../errors.ts";
import { type LeaseConfig, loadLeaseConfig } from "../kube/lease-config.ts";
import type { AddressFamily } from "../node/addresses.ts";
import { loadRobotConfig, type RobotConfig } from "../robot/config.ts";
import { loadServeConfig, type ServeConfig } from "../serve/config.ts";
import type { ServiceOptions } from "../service/annotations.ts";
import { CLASSLESS, type ServedClasses, servedClasses } from "../service/ours.ts";
import { parseDefaults } from "../service/settings.ts";
import { boolean, oneOf, seconds } from "../service/values.ts";
import { ALL_CONTROLLERS, controllers } from "./controllers.ts";
import { cidrs, clusterName, natural, period, prefixes, secretScope, stateLocation, url } from "./flag-values.ts";
import { type FlagValues, RUN_FLAGS } from "./flags.ts";
import { type Environment, Reading } from "./reading.ts";

export interface Config {
  readonly kubeconfig?: string;
  readonly master?: string;
  /** Name of the stack. */
  readonly clusterName: string;
  /** Pod ranges; routes are made when there is a network and this is not empty. */
  readonly clusterCidrs: readonly string[];
  readonly token: string;
  /** Where the token came from, if from a file: it is read again when the file changes. */
  readonly tokenFile?: string;
  readonly endpoint: string;
  /** Whether every request and answer of the cloud is logged. */
  readonly debug: boolean;
  /** Id or name of the cluster's network. */
  readonly network?: string;
  /** Whether the machine we run on must be attached to that network. */
  readonly checksAttachment: boolean;
  readonly metadataEndpoint: string;
  readonly addressFamily: AddressFamily;
  readonly zoneLabel: boolean;
  /** Labels of servers that start with one of these are copied to their nodes. */
  readonly labelPrefixes: readonly string[];
  /** Absent when there are no dedicated servers. */
  readonly robot?: RobotConfig;
  /** Whether nodes are initialised and kept right, and whether those without server are deleted. */
  readonly nodes: boolean;
  readonly lifecycle: boolean;
  readonly loadBalancers: boolean;
  /** Where TLS Secrets are read, which takes the right to read all Secrets there; absent means nowhere. */
  readonly tlsSecrets?: { readonly namespaces?: readonly string[] };
  readonly serviceDefaults: ServiceOptions;
  /** Whose Services are served. */
  readonly loadBalancerClasses: ServedClasses;
  /** Where the stack's state is kept: in Secrets of the `cluster`, nowhere (`none`), or in a Pulumi backend. */
  readonly state: string;
  /** Where our own objects live. */
  readonly namespace: string;
  /** Absent when leader election is off. */
  readonly lease?: LeaseConfig;
  readonly serve: ServeConfig;
  readonly guard: GuardLimits;
  /** Whether to say what would change instead of changing it. */
  readonly isDryRun: boolean;
  /** Which changes wait until somebody approves them. */
  readonly approval: ApprovalMode;
  /** How often the cloud is compared with what is wanted when nothing happens. */
  readonly resyncMs: number;
  /** A run that takes longer is ended; what is left of it is for the next one. */
  readonly runDeadlineMs: number;
  /** How often the servers of nodes that are not Ready are looked at. */
  readonly nodeMonitorMs: number;
  readonly logFormat: "json" | "text";
  readonly verbosity: number;
  /** Things that were set and have no effect, each with the reason. */
  readonly warnings: readonly string[];
}

export type { Environment } from "./reading.ts";

const approvalMode = oneOf<ApprovalMode>("none", "deletions", "manual");
const METADATA = "http://169.254.169.254/hetzner/v1/metadata";

/** Reads everything; throws a ConfigError with all mistakes. `flags` are keyed by their names without dashes in front. */
export function loadConfig(flags: FlagValues, env: Environment): Config {
  const read = new Reading(flags, env);
  const network = env.HCLOUD_NETWORK || undefined;
  const enabled = read.flag("controllers", controllers, ALL_CONTROLLERS);
  const makesRoutes =
    read.flag("configure-cloud-routes", boolean, true) &&
    (network === undefined || read.env("HCLOUD_NETWORK_ROUTES_ENABLED", boolean, true));
  const cidrsGiven = read.flag("cluster-cidr", cidrs, []);
  const robot = loadRobotConfig(read);
  const lease = loadLeaseConfig(read);
  const tlsSecrets = read.env("LOTSE_TLS_SECRETS", secretScope, undefined);
  const config: Config = {
    ...(tlsSecrets && { tlsSecrets }),
    ...(robot && { robot }),
    ...(lease && { lease }),
    ...read.text("kubeconfig", "kubeconfig"),
    ...read.text("master", "master"),
    state: read.flag("state", stateLocation, read.env("LOTSE_STATE", stateLocation, "cluster")),
    namespace: env.POD_NAMESPACE || "kube-system",
    clusterName: read.flag("cluster-name", clusterName, "kubernetes"),
    clusterCidrs: makesRoutes && enabled.route ? cidrsGiven : [],
    ...loadToken(read),
    endpoint: read.env("HCLOUD_ENDPOINT", url, "https://api.hetzner.cloud/v1"),
    debug: read.env("HCLOUD_DEBUG", boolean, false),
    ...(network !== undefined && { network }),
    checksAttachment: !read.env("HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK", boolean, false),
    metadataEndpoint: read.env("LOTSE_METADATA_ENDPOINT", url, METADATA),
    addressFamily: read.env("HCLOUD_INSTANCES_ADDRESS_FAMILY", oneOf("ipv4", "ipv6", "dualstack"), "ipv4"),
    zoneLabel: read.env("HCLOUD_INSTANCES_ZONE_LABEL_ENABLED", boolean, true),
    labelPrefixes: read.env("LOTSE_NODE_LABELS_FROM_SERVER", prefixes, []),
    nodes: enabled.node,
    lifecycle: enabled.lifecycle,
    loadBalancers: read.env("HCLOUD_LOAD_BALANCERS_ENABLED", boolean, true) && enabled.service,
    serviceDefaults: loadDefaults(read, env),
    loadBalancerClasses: read.env("LOTSE_LOAD_BALANCER_CLASS", servedClasses, CLASSLESS),
    serve: loadServeConfig(read),
    guard: { removals: read.flag("guard-removals", natural, GUARD_LIMITS.removals), share: GUARD_LIMITS.share },
    isDryRun: read.flag("dry-run", boolean, false),
    approval: read.flag("approval", approvalMode, read.env("LOTSE_APPROVAL", approvalMode, "none")),
    resyncMs: read.flag("resync", period, 60) * 1000,
    runDeadlineMs: read.flag("run-deadline", period, 90) * 1000,
    nodeMonitorMs: read.flag("node-monitor-period", seconds(1, 3_600), 5) * 1000,
    logFormat: read.flag("logging-format", oneOf("json", "text"), process.stderr.isTTY ? "text" : "json"),
    verbosity: read.flag("v", natural, 0),
    warnings: read.warnings,
  };
  noteIgnored(read, flags);
  if (read.mistakes.length > 0) throw new ConfigError(read.mistakes);
  return Object.freeze(config);
}

/** The cluster-wide defaults of Services. */
function loadDefaults(read: Reading, env: Environment): ServiceOptions {
  const { options, mistakes } = parseDefaults(env);
  read.mistakes.push(...mistakes);
  if (options.location && options.networkZone) {
    read.mistakes.push(
      "HCLOUD_LOAD_BALANCERS_LOCATION and HCLOUD_LOAD_BALANCERS_NETWORK_ZONE: set one of them, not both",
    );
  }
  return options;
}

function loadToken(read: Reading): Pick<Config, "token" | "tokenFile"> {
  const { value: token = "", file } = read.secret("HCLOUD_TOKEN");
  if (token === "" && read.mistakes.some((mistake) => mistake.startsWith("HCLOUD_TOKEN_FILE"))) return { token };
  if (token === "") {
    const remedy = "create a token with read and write rights in the project of this cluster";
    read.mistakes.push(`HCLOUD_TOKEN is not set: ${remedy}`);
  } else if (!/^[\x21-\x7e]+$/.test(token)) {
    read.mistakes.push("HCLOUD_TOKEN: holds characters that no token has, check for blanks and line ends");
  } else if (token.length !== 64) {
    read.warnings.push(`HCLOUD_TOKEN has ${token.length} characters, and tokens of the API have 64`);
  }
  return { token, ...(file && { tokenFile: file }) };
}

/** What is set and means nothing here: checked as the official controller does, and said. */
function noteIgnored(read: Reading, flags: FlagValues): void {
  if (flags["cloud-provider"] !== undefined && flags["cloud-provider"] !== "hcloud") {
    read.mistakes.push(`--cloud-provider: ${JSON.stringify(flags["cloud-provider"])} is not hcloud`);
  }
  for (const { name, ignored } of RUN_FLAGS) {
    if (ignored && read.isGiven(name)) read.warnings.push(`--${name} has no effect: ${ignored}`);
  }
  const cache = [
    read.env<string>("HCLOUD_SERVER_CACHE_MODE", oneOf("all", "one", "off"), "") && "HCLOUD_SERVER_CACHE_MODE",
    read.env("HCLOUD_SERVER_CACHE_MAX_AGE", seconds(0, 86_400), -1) >= 0 && "HCLOUD_SERVER_CACHE_MAX_AGE",
  ];
  for (const name of cache) {
    if (name)
      read.warnings.push(`${name} has no effect: one list of servers serves everybody, as old as each may have it`);
  }
}
