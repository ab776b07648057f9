/** Flags and environment → a frozen Config. All mistakes are reported at once. */
import { ConfigError } from "../diagnostics/errors.ts";
import type { ServiceOptions } from "../render/service/options/annotations.ts";
import { parseDefaults } from "../render/service/options/settings.ts";
import type { Secret } from "./flag-values.ts";
import type { FlagValues } from "./flags.ts";
import { CLOUD, CLUSTER, CONTROLLER, ELECTION, LOGS, LOTSE, ROBOT, SERVING } from "./settings.ts";
import { type Environment, read, type Source } from "./source.ts";
import { UPSTREAM } from "./upstream-flags.ts";

export type { Environment } from "./source.ts";

/** The effective configuration. Most fields are named like their rows in settings.ts. */
export type Config = Readonly<ReturnType<typeof readAll>>;
/** Leader election. */
export type LeaseConfig = NonNullable<Config["lease"]>;
/** Dedicated servers. */
export type RobotConfig = NonNullable<Config["robot"]>;
/** The HTTPS port. */
export type SecureConfig = NonNullable<Config["serve"]["secure"]>;

/** The configuration; throws a ConfigError that lists every mistake. `flags` are keyed by name, without dashes. */
export function loadConfig(flags: FlagValues, env: Environment): Config {
  const source: Source = { flags, env, mistakes: [], warnings: [] };
  return withoutMistakes(readAll(source), source);
}

/** Only the settings that lead to a cluster and to Lotse's objects in it. Throws like `loadConfig`. */
export function loadClusterConfig(flags: FlagValues, env: Environment) {
  const source: Source = { flags, env, mistakes: [], warnings: [] };
  return withoutMistakes(read({ ...CLUSTER, namespace: LOTSE.namespace }, source), source);
}

function withoutMistakes<T>(config: T, { mistakes }: Source): Readonly<T> {
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return Object.freeze(config);
}

function readAll(source: Source) {
  const { clusterCidrs = [], routes, ...cluster } = read(CLUSTER, source);
  const { provider, controllers, ...controller } = read(CONTROLLER, source);
  const { token, skipsAttachment, hasRoutes, hasMetrics, metrics, cacheMode, cacheAge, ...cloud } = read(CLOUD, source);
  const { labelPrefixes = [], ...ours } = read(LOTSE, source);
  read(UPSTREAM, source);
  const hasRouting = routes && hasRoutes && controllers.route;
  if (hasRouting && cloud.network && clusterCidrs.length === 0) source.warnings.push(NO_POD_RANGES);
  return {
    ...cluster,
    ...controller,
    ...cloud,
    ...ours,
    ...read(LOGS, source),
    ...checkToken(token, source),
    state: checkState(controller.state, source),
    clusterCidrs: hasRouting ? clusterCidrs : [],
    checksAttachment: !skipsAttachment,
    labelPrefixes,
    nodes: controllers.node,
    lifecycle: controllers.lifecycle,
    loadBalancers: controllers.service && cloud.loadBalancers,
    serviceDefaults: readDefaults(source),
    lease: readLease(source),
    robot: readRobot(source),
    serve: { metrics: hasMetrics ? metrics : undefined, secure: readSecure(source) },
    warnings: source.warnings,
  };
}

const NO_POD_RANGES =
  "--cluster-cidr is not set, so no routes are created: set it, or HCLOUD_NETWORK_ROUTES_ENABLED=false";

function checkToken({ value: token, file }: Secret = {}, { mistakes, warnings }: Source) {
  if (token === undefined && file) return { token: "" }; // readSecret has reported the unreadable file
  if (!token) {
    mistakes.push(
      "HCLOUD_TOKEN is not set: create an API token with read and write permission in this cluster's project",
    );
  } else if (!/^[\x21-\x7e]+$/.test(token)) {
    mistakes.push("HCLOUD_TOKEN contains characters that are invalid in a token: check for spaces and line breaks");
  } else if (token.length !== 64) {
    warnings.push(`HCLOUD_TOKEN has ${token.length} characters, but API tokens have 64`);
  }
  return { token: token ?? "", tokenFile: file };
}

/** Pulumi Cloud needs a token, which the command line reads from the environment. */
function checkState(state: string, { env, mistakes }: Source): string {
  if (state.startsWith("https://") && !env.PULUMI_ACCESS_TOKEN)
    mistakes.push(
      "PULUMI_ACCESS_TOKEN is not set: an https:// URL in --state selects Pulumi Cloud, which requires an access token",
    );
  return state;
}

/** Cluster-wide defaults for Services. */
function readDefaults({ env, mistakes }: Source): ServiceOptions {
  const parsed = parseDefaults(env);
  mistakes.push(...parsed.mistakes);
  if (parsed.options.location && parsed.options.networkZone)
    mistakes.push("HCLOUD_LOAD_BALANCERS_LOCATION and HCLOUD_LOAD_BALANCERS_NETWORK_ZONE: set only one of them");
  return parsed.options;
}

/** Undefined when leader election is off. The rules are upstream's. */
function readLease(source: Source) {
  const { isOn, lock, ...lease } = read(ELECTION, source);
  if (!isOn) return undefined;
  if (lease.durationMs <= lease.deadlineMs)
    source.mistakes.push("--leader-elect-lease-duration must be longer than --leader-elect-renew-deadline");
  if (lease.deadlineMs <= lease.retryMs * 1.2)
    source.mistakes.push("--leader-elect-renew-deadline must be longer than 1.2 times --leader-elect-retry-period");
  return lease;
}

/** Undefined when the HTTPS port is disabled. */
function readSecure(source: Source) {
  const secure = read(SERVING, source);
  if ((secure.certFile === undefined) !== (secure.keyFile === undefined))
    source.mistakes.push("--tls-cert-file and --tls-private-key-file: set both or neither");
  return secure.port > 0 ? secure : undefined;
}

/** Undefined when dedicated servers are not managed. Without credentials they can still be targets, by node address. */
export function readRobot(source: Source) {
  const { isOn, ...rows } = ROBOT;
  if (!read({ isOn }, source).isOn) return undefined;
  const { user = {}, password = {}, ...robot } = read(rows, source);
  if (!user.value !== !password.value)
    source.mistakes.push(
      "ROBOT_USER and ROBOT_PASSWORD: set both, or neither to use dedicated servers as targets only",
    );
  const files = { userFile: user.file, passwordFile: password.file };
  const credentials = user.value && password.value && { user: user.value, password: password.value, ...files };
  return { ...robot, ...(credentials && { credentials }) };
}
