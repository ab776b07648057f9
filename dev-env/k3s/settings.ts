/** What can be chosen about an environment: one table for flags, variables, files, stack configuration and the docs. */
import ipaddr from "ipaddr.js";
import { ConfigError } from "../../controller/diagnostics/errors.ts";
import { integer, oneOf, type Parser } from "../../controller/formats/values.ts";
import { MAX_WORKERS, type Pool, parsePools } from "./pools.ts";
import { cidrList, imageReference, k3sChannel, privateRange, typeName } from "./setting-values.ts";

/** Label of every resource of an environment; its value is the environment's name. */
export const LABEL = "lotse-dev-env";

/** One setting. */
export interface Setting<T> {
  /** Flag without dashes. */
  readonly flag: string;
  readonly value: string;
  readonly parse: Parser<T>;
  /** As a user would write it; empty means none. */
  readonly fallback: string;
  readonly doc: string;
}

const setting = <T>(usage: string, parse: Parser<T>, fallback: string, doc: string): Setting<T> => {
  const [flag = "", value = ""] = usage.split(" ");
  return { flag, value, parse, fallback, doc };
};

/** Locations with their network zones. */
const ZONES: Readonly<Record<string, string>> = {
  fsn1: "eu-central",
  nbg1: "eu-central",
  hel1: "eu-central",
  ash: "us-east",
  hil: "us-west",
  sin: "ap-southeast",
};

const text: Parser<string> = (value) => ({ value });

/** Keys of the stack's configuration, with their flags. */
export const SETTINGS = {
  controlPlanes: setting(
    "control-planes <count>",
    oneOf("1", "3"),
    "1",
    "control planes: one, or three behind a load balancer",
  ),
  controlPlaneType: setting("control-plane-type <type>", typeName, "cx23", "server type of the control planes"),
  workers: setting("workers <count>", integer(0, MAX_WORKERS), "2", "servers in the pool `worker`"),
  workerType: setting("worker-type <type>", typeName, "cx23", "server type of workers"),
  pools: setting("pools <yaml>", text, "", "further worker pools, with labels and taints"),
  location: setting("location <location>", oneOf(...Object.keys(ZONES)), "fsn1", "location of all servers"),
  network: setting(
    "network <cidr>",
    privateRange,
    "10.0.0.0/8",
    "private network; its first 256 addresses are for servers",
  ),
  pods: setting(
    "pods <cidr>",
    privateRange,
    "10.244.0.0/16",
    "range inside the network for pods, which routes lead to",
  ),
  k3sChannel: setting("k3s-channel <channel>", k3sChannel, "stable", "release channel of k3s: stable, latest or v1.34"),
  image: setting(
    "image <reference>",
    imageReference,
    "",
    "controller image that the cluster can pull; without one, run the controller with `dev-env watch`",
  ),
  allowFrom: setting(
    "allow-from <cidrs>",
    cidrList,
    "0.0.0.0/0,::/0",
    "addresses that may reach SSH and the API server",
  ),
} as const;

type Table = typeof SETTINGS;
export type SettingName = keyof Table;

/** The parsed settings. `pools` includes the pool `worker`, which comes first. */
export interface Settings extends Omit<Parsed, "pools" | "controlPlanes"> {
  readonly controlPlanes: number;
  readonly pools: readonly Pool[];
  readonly zone: string;
  /** Addresses of the servers. */
  readonly subnet: string;
}
type Parsed = { readonly [K in SettingName]: Table[K] extends Setting<infer T> ? T : never };

/** Settings as a user wrote them. */
export type Choices = Readonly<Partial<Record<SettingName, string>>>;

export const SETTING_NAMES = Object.keys(SETTINGS) as readonly SettingName[];

/** The environment variable of a setting. */
export function variableOf({ flag }: Pick<Setting<unknown>, "flag">): string {
  return `LOTSE_DEV_${flag.toUpperCase().replaceAll("-", "_")}`;
}

/**
 * Parses settings. Absent ones have their default. `nameOf` says how a user knows a setting. Throws a ConfigError with
 * all mistakes, including those in `others`.
 */
export function parseSettings(
  choices: Choices,
  nameOf: (name: SettingName) => string,
  others: readonly string[] = [],
): Settings {
  const mistakes = [...others];
  const entries = SETTING_NAMES.map((name) => {
    const { parse, fallback } = SETTINGS[name];
    const given = choices[name] ?? fallback;
    const parsed = parse(given);
    if ("value" in parsed) return [name, parsed.value] as const;
    mistakes.push(`${nameOf(name)}: ${JSON.stringify(given)} is not ${parsed.allowed}`);
    return [name, undefined] as const;
  });
  const values = Object.fromEntries(entries) as Partial<Parsed>;
  const { workers = 0, workerType = "" } = values;
  const report = (mistake: string) => mistakes.push(`${nameOf("pools")}${mistake}`);
  const further = parsePools(values.pools ?? "", workerType, report);
  const pools = [{ name: "worker", count: workers, type: workerType, labels: {}, taints: [] }, ...further];
  const { network, pods } = values;
  if (network && pods) mistakes.push(...checkRanges(network, pods).map((mistake) => `${nameOf("pods")}: ${mistake}`));
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  const parsed = values as Parsed;
  const [controlPlanes, zone, subnet] = [
    Number(parsed.controlPlanes),
    ZONES[parsed.location] ?? "",
    subnetOf(parsed.network),
  ];
  return { ...parsed, controlPlanes, pools, zone, subnet };
}

/** The pods' range lies inside the network, beside the servers. */
function checkRanges(network: string, pods: string): readonly string[] {
  const servers = subnetOf(network);
  if (!contains(network, servers)) return [`the network ${network} has no room for servers and pods`];
  if (!contains(network, pods)) return [`${pods} is not inside the network ${network}`];
  return contains(servers, pods) || contains(pods, servers) ? [`${pods} overlaps with ${servers}, the servers`] : [];
}

function subnetOf(network: string): string {
  return `${network.split("/")[0]}/24`;
}

function contains(outer: string, inner: string): boolean {
  const [outerBase, outerBits] = ipaddr.IPv4.parseCIDR(outer);
  const [innerBase, innerBits] = ipaddr.IPv4.parseCIDR(inner);
  return innerBits >= outerBits && innerBase.match(outerBase, outerBits);
}
