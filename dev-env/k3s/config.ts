/** Flags, environment variables and what was asked for last time → what to build. Every mistake is reported at once. */
import { ConfigError } from "../../controller/diagnostics/errors.ts";
import { integer, oneOf, type Parser } from "../../controller/formats/values.ts";
import { cidrList, environmentName, imageReference, k3sChannel, typeName } from "./config-values.ts";
import { LOCATIONS, MAX_WORKERS } from "./layout.ts";

/** One thing that can be chosen. The table below is read by the parser, the help and the README. */
export interface Option<T> {
  /** Flag without dashes; the environment variable is made from it. */
  readonly flag: string;
  readonly value: string;
  readonly parse: Parser<T>;
  /** As somebody would write it; empty means none. */
  readonly fallback: string;
  readonly doc: string;
}

/** A row: the flag as it is written, its parser, the default, and what it means. */
const option = <T>(usage: string, parse: Parser<T>, fallback: string, doc: string): Option<T> => {
  const [flag = "", value = ""] = usage.split(" ");
  return { flag, value, parse, fallback, doc };
};

export const OPTIONS = {
  name: option("name <name>", environmentName, "lotse-dev", "name of the environment; several may exist in a project"),
  workers: option("workers <count>", integer(0, MAX_WORKERS), "2", "servers besides the control plane"),
  controlPlaneType: option("control-plane-type <type>", typeName, "cx23", "server type of the control plane"),
  workerType: option("worker-type <type>", typeName, "cx23", "server type of the workers"),
  location: option("location <location>", oneOf(...LOCATIONS), "fsn1", "where the servers are"),
  k3sChannel: option("k3s-channel <channel>", k3sChannel, "stable", "release channel of k3s: stable, latest or v1.34"),
  image: option(
    "image <reference>",
    imageReference,
    "",
    "image of the controller that the cluster can pull; without one the controller runs on this machine: dev-env watch",
  ),
  allowFrom: option(
    "allow-from <cidrs>",
    cidrList,
    "0.0.0.0/0,::/0",
    "addresses that may reach SSH and the API server",
  ),
} as const;

type Options = typeof OPTIONS;
type OptionName = keyof Options;

/** What an environment is to be made of. */
export type EnvironmentConfig = {
  readonly [K in OptionName]: Options[K] extends Option<infer T> ? T : never;
};

/** Texts by option, as somebody wrote them. */
export type Choices = Readonly<Partial<Record<OptionName, string>>>;

/** Values by name, as a command line or an environment gives them. */
type Values = Readonly<Record<string, string | undefined>>;

/** The environment variable of an option. */
export function variableOf({ flag }: Pick<Option<unknown>, "flag">): string {
  return `LOTSE_DEV_${flag.toUpperCase().replaceAll("-", "_")}`;
}

/** What somebody asked for in this call: flags win over environment variables. */
export function readChoices(flags: Values, env: Values): Choices {
  const entries = names().map((name) => {
    const { flag } = OPTIONS[name];
    return [name, flags[flag] ?? (env[variableOf(OPTIONS[name])] || undefined)] as const;
  });
  return Object.fromEntries(entries.filter(([, text]) => text !== undefined));
}

/**
 * The configuration: what is asked for now, else what was asked for last time, else the default. So a second `up` without
 * flags changes nothing. Throws a ConfigError with all mistakes, `others` among them.
 */
export function loadConfig(now: Choices, before: Choices = {}, others: readonly string[] = []): EnvironmentConfig {
  const mistakes = [...others];
  const entries = names().map((name) => {
    const { flag, parse, fallback } = OPTIONS[name];
    const text = now[name] ?? before[name] ?? fallback;
    const parsed = parse(text);
    if ("value" in parsed) return [name, parsed.value] as const;
    const source = now[name] === undefined ? `${flag} of the last time` : `--${flag} or ${variableOf({ flag })}`;
    mistakes.push(`${source}: ${JSON.stringify(text)} is not ${parsed.allowed}`);
    return [name, undefined] as const;
  });
  if (mistakes.length > 0) throw new ConfigError(mistakes);
  return Object.freeze(Object.fromEntries(entries)) as EnvironmentConfig;
}

function names(): readonly OptionName[] {
  return Object.keys(OPTIONS) as OptionName[];
}
