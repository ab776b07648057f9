/** Flags and environment → a frozen Config. Every mistake is reported at once. */
import { readFileSync } from "node:fs";
import { GUARD_LIMITS, type GuardLimits } from "./cluster/guard.ts";
import { ConfigError, messageOf } from "./errors.ts";
import { cidrs, clusterName, natural, period, prefixes, stateLocation, url } from "./flag-values.ts";
import { type FlagValues, RUN_FLAGS } from "./flags.ts";
import type { AddressFamily } from "./node/addresses.ts";
import { loadRobotConfig, type RobotConfig } from "./robot/config.ts";
import type { ServiceOptions } from "./service/annotations.ts";
import { parseDefaults } from "./service/settings.ts";
import { boolean, oneOf, type Parser, seconds } from "./service/values.ts";

export interface Config {
  readonly kubeconfig?: string;
  readonly master?: string;
  /** Name of the stack. */
  readonly clusterName: string;
  /** Pod ranges; routes are made when there is a network and this is not empty. */
  readonly clusterCidrs: readonly string[];
  readonly token: string;
  readonly endpoint: string;
  /** Id or name of the cluster's network. */
  readonly network?: string;
  readonly addressFamily: AddressFamily;
  readonly zoneLabel: boolean;
  /** Labels of servers that start with one of these are copied to their nodes. */
  readonly labelPrefixes: readonly string[];
  /** Absent when there are no dedicated servers. */
  readonly robot?: RobotConfig;
  readonly loadBalancers: boolean;
  readonly serviceDefaults: ServiceOptions;
  /** Where the stack's state is kept: in Secrets of the `cluster`, nowhere (`none`), or in a Pulumi backend. */
  readonly state: string;
  /** Where the engine works; a temporary folder when absent. */
  readonly workDir?: string;
  /** Where our own objects live. */
  readonly namespace: string;
  readonly guard: GuardLimits;
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

export type Environment = Readonly<Record<string, string | undefined>>;

/** Reads everything; throws a ConfigError with all mistakes. `flags` are keyed by their names without dashes in front. */
export function loadConfig(flags: FlagValues, env: Environment): Config {
  const mistakes: string[] = [];
  const read = new Reading(flags, env, mistakes);
  const defaults = parseDefaults(env);
  mistakes.push(...defaults.mistakes);
  if (defaults.options.location && defaults.options.networkZone) {
    mistakes.push("HCLOUD_LOAD_BALANCERS_LOCATION and HCLOUD_LOAD_BALANCERS_NETWORK_ZONE: set one of them, not both");
  }
  if (flags["cloud-provider"] !== undefined && flags["cloud-provider"] !== "hcloud") {
    mistakes.push(`--cloud-provider: ${JSON.stringify(flags["cloud-provider"])} is not hcloud`);
  }
  const network = env.HCLOUD_NETWORK || undefined;
  const makesRoutes =
    read.flag("configure-cloud-routes", boolean, true) &&
    (network === undefined || read.env("HCLOUD_NETWORK_ROUTES_ENABLED", boolean, true));
  const robot = loadRobotConfig(env, mistakes);
  const config: Config = {
    ...(robot && { robot }),
    ...read.text("kubeconfig", "kubeconfig"),
    ...read.text("master", "master"),
    ...read.text("workDir", "work-dir"),
    state: read.flag("state", stateLocation, env.LOTSE_STATE || "cluster"),
    namespace: env.POD_NAMESPACE || "kube-system",
    clusterName: read.flag("cluster-name", clusterName, "kubernetes"),
    clusterCidrs: makesRoutes ? read.flag("cluster-cidr", cidrs, []) : [],
    token: readToken(env, mistakes),
    endpoint: read.env("HCLOUD_ENDPOINT", url, "https://api.hetzner.cloud/v1"),
    ...(network !== undefined && { network }),
    addressFamily: read.env("HCLOUD_INSTANCES_ADDRESS_FAMILY", oneOf("ipv4", "ipv6", "dualstack"), "ipv4"),
    zoneLabel: read.env("HCLOUD_INSTANCES_ZONE_LABEL_ENABLED", boolean, true),
    labelPrefixes: read.env("LOTSE_NODE_LABELS_FROM_SERVER", prefixes, []),
    loadBalancers: read.env("HCLOUD_LOAD_BALANCERS_ENABLED", boolean, true),
    serviceDefaults: defaults.options,
    guard: { removals: read.flag("guard-removals", natural, GUARD_LIMITS.removals), share: GUARD_LIMITS.share },
    resyncMs: read.flag("resync", period, 60) * 1000,
    runDeadlineMs: read.flag("run-deadline", period, 90) * 1000,
    nodeMonitorMs: read.flag("node-monitor-period", seconds(1, 3_600), 5) * 1000,
    logFormat: read.flag("logging-format", oneOf("json", "text"), process.stderr.isTTY ? "text" : "json"),
    verbosity: read.flag("v", natural, 0),
    warnings: warningsFor(flags, read),
  };
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return Object.freeze(config);
}

/** Looks values up, and notes what is wrong with them. */
class Reading {
  readonly #flags: FlagValues;
  readonly #env: Environment;
  readonly #mistakes: string[];

  constructor(flags: FlagValues, env: Environment, mistakes: string[]) {
    this.#flags = flags;
    this.#env = env;
    this.#mistakes = mistakes;
  }

  /** A flag; one given without a value counts as `true`. */
  flag<T>(name: string, parse: Parser<T>, fallback: T): T {
    const given = this.#flags[name];
    return this.#parse(`--${name}`, given === true ? "true" : given === false ? "false" : given, parse, fallback);
  }

  env<T>(name: string, parse: Parser<T>, fallback: T): T {
    return this.#parse(name, this.#env[name] || undefined, parse, fallback);
  }

  text<K extends string>(key: K, flag: string): { [P in K]?: string } {
    const value = this.#flags[flag];
    return typeof value === "string" && value !== "" ? ({ [key]: value } as { [P in K]?: string }) : {};
  }

  #parse<T>(source: string, given: string | undefined, parse: Parser<T>, fallback: T): T {
    if (given === undefined) return fallback;
    const parsed = parse(given);
    if ("value" in parsed) return parsed.value;
    this.#mistakes.push(`${source}: ${JSON.stringify(given)} is not ${parsed.allowed}`);
    return fallback;
  }
}

function readToken(env: Environment, mistakes: string[]): string {
  const { HCLOUD_TOKEN: value, HCLOUD_TOKEN_FILE: file } = env;
  let token = value;
  if (token === undefined && file) {
    try {
      token = readFileSync(file, "utf8").trim();
    } catch (error) {
      mistakes.push(`HCLOUD_TOKEN_FILE: ${messageOf(error)}`);
      return "";
    }
  }
  if (!token)
    mistakes.push("HCLOUD_TOKEN is not set: create a token with read and write rights in the project of this cluster");
  else if (!/^[\x21-\x7e]+$/.test(token))
    mistakes.push("HCLOUD_TOKEN: holds characters that no token has, check for blanks and line ends");
  return token ?? "";
}

function warningsFor(flags: FlagValues, read: Reading): readonly string[] {
  const ignored = RUN_FLAGS.filter(({ name, ignored: reason }) => reason && flags[name] !== undefined);
  const warnings = ignored.map(({ name, ignored: reason }) => `--${name} has no effect: ${reason}`);
  if (read.flag("leader-elect", boolean, false)) {
    warnings.push("--leader-elect is not supported by this version: run one replica, and pass --leader-elect=false");
  }
  return warnings;
}
