/** What can be chosen about an environment: one table for flags, variables, stack configuration and the docs. */
import { anything } from "../../controller/config/flag-values.ts";
import { ConfigError } from "../../controller/diagnostics/errors.ts";
import { integer, oneOf, type Parser } from "../../controller/formats/values.ts";
import { cidr, contains, overlaps } from "../cloud/state/cidr.ts";
import { MAX_WORKERS, type Pool, parsePools } from "./pools.ts";
import { cidrList, controlPlaneCount, imageReference, k3sChannel, privateRange, typeName } from "./setting-values.ts";

/** Label of every resource of an environment; its value is the environment's name. */
export const LABEL = "lotse-dev-env";

/** Size of the servers' subnet, at the beginning of the network, and of the range that each node has for its pods. */
const SUBNET_PREFIX = 24;

/** Addresses that k3s gives to Services. */
const SERVICES = "10.43.0.0/16";

/** Locations with their network zones. */
const ZONES: Readonly<Record<string, string>> = {
  fsn1: "eu-central",
  nbg1: "eu-central",
  hel1: "eu-central",
  ash: "us-east",
  hil: "us-west",
  sin: "ap-southeast",
};

/** One setting. `fallback` is its default, as a user would write it; empty means none. */
function setting<T>(value: string, parse: Parser<T>, fallback: string, doc: string) {
  return { value, parse, fallback, doc };
}

/** Keys of the stack's configuration; flags and variables are derived from them. */
export const SETTINGS = {
  controlPlanes: setting("<count>", controlPlaneCount, "1", "control planes: one, or three behind a load balancer"),
  controlPlaneType: setting("<type>", typeName, "cx23", "server type of the control planes"),
  workers: setting("<count>", integer(0, MAX_WORKERS), "2", "servers in the pool `worker`"),
  workerType: setting("<type>", typeName, "cx23", "server type of workers"),
  pools: setting("<yaml>", anything, "", "further worker pools, with labels and taints"),
  location: setting("<location>", oneOf(...Object.keys(ZONES)), "fsn1", "location of all servers"),
  network: setting("<cidr>", privateRange, "10.0.0.0/8", "private network; its first 256 addresses are for servers"),
  pods: setting("<cidr>", privateRange, "10.244.0.0/16", "range inside the network for pods, which routes lead to"),
  k3sChannel: setting("<channel>", k3sChannel, "stable", "release channel of k3s: stable, latest, testing or v1.34"),
  image: setting("<reference>", imageReference, "", "controller image; without one, run it with `dev-env watch`"),
  allowFrom: setting("<cidrs>", cidrList, "0.0.0.0/0,::/0", "addresses that may reach SSH and the API server"),
};

type Table = typeof SETTINGS;
type Values = { readonly [K in SettingName]: Table[K]["parse"] extends Parser<infer T> ? T : never };

/** The parsed settings. `pools` includes the pool `worker`, which comes first. */
export interface Settings extends Omit<Values, "pools"> {
  readonly pools: readonly Pool[];
  readonly zone: string;
  /** Addresses of the servers. */
  readonly subnet: string;
}

/** Name of a setting. */
export type SettingName = keyof Table;

/** Settings as a user wrote them. */
export type Choices = Readonly<Partial<Record<SettingName, string>>>;

/** All names, in the order of the table. */
export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

/** The flag of a setting, without dashes: `k3s-channel` for `k3sChannel`. */
export function flagOf(name: SettingName): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

/** The environment variable of a setting. */
export function variableOf(name: SettingName): string {
  return `LOTSE_DEV_${flagOf(name).toUpperCase().replaceAll("-", "_")}`;
}

/**
 * Parses settings. Absent ones have their default. `nameOf` says how a user knows a setting, by default by its key. Throws a ConfigError with
 * all mistakes, including those in `others`.
 */
export function parseSettings(
  choices: Choices,
  others: readonly string[] = [],
  nameOf: (name: SettingName) => string = (name) => name,
): Settings {
  const mistakes = [...others];
  const entries = SETTING_NAMES.flatMap((name) => {
    const { parse, fallback } = SETTINGS[name];
    const given = choices[name] ?? fallback;
    const parsed = parse(given);
    if ("value" in parsed) return [[name, parsed.value]];
    mistakes.push(`${nameOf(name)}: ${JSON.stringify(given)} is not ${parsed.allowed}`);
    return [];
  });
  const values: Partial<Values> = Object.fromEntries(entries);
  const { network, pods: range, workers: count = 0, workerType: type = SETTINGS.workerType.fallback } = values;
  const further = parsePools(values.pools ?? "", type, (mistake) => mistakes.push(nameOf("pools") + mistake));
  const pools = [{ name: "worker", count, type, labels: {}, taints: [] }, ...further];
  const nodes = pools.reduce((sum, pool) => sum + pool.count, values.controlPlanes ?? 1);
  const [name, text] = (network && range && checkRanges(network, range, nodes)) || [];
  if (name) mistakes.push(`${nameOf(name)}: ${text}`);
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  const parsed = values as Values;
  return { ...parsed, pools, zone: ZONES[parsed.location] ?? "", subnet: subnetOf(parsed.network) };
}

/** The pods' range lies inside the network, beside servers and Services, and has room for every node. */
function checkRanges(network: string, pods: string, nodes: number): readonly [SettingName, string] | undefined {
  const [all, inner, services] = [cidr(network), cidr(pods), cidr(SERVICES)];
  if (all.prefix > SUBNET_PREFIX) return ["pods", `the network ${network} has no room for servers and pods`];
  if (!contains(all, inner)) return ["pods", `${pods} is not inside the network ${network}`];
  const servers = subnetOf(network);
  const ofServices = `overlaps with ${SERVICES}, the Services of k3s`;
  if (overlaps(services, cidr(servers))) return ["network", `${servers}, its range for servers, ${ofServices}`];
  if (overlaps(services, inner)) return ["pods", `${pods} ${ofServices}`];
  if (overlaps(cidr(servers), inner)) return ["pods", `${pods} overlaps with ${servers}, the servers`];
  if (contains(inner, cidr("172.31.1.1/32")))
    return ["pods", `${pods} contains 172.31.1.1, the public gateway of servers: the API accepts no route to it`];
  const room = Math.floor(2 ** (SUBNET_PREFIX - inner.prefix));
  return room < nodes
    ? ["pods", `${pods} has room for ${room} nodes with 256 addresses each, not ${nodes}`]
    : undefined;
}

function subnetOf(network: string): string {
  return `${network.split("/")[0]}/${SUBNET_PREFIX}`;
}
