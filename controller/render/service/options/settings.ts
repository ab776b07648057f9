/** Annotations and cluster-wide defaults → the settings of a Service and of each of its ports. */
import type { V1ServicePort } from "@kubernetes/client-node";
import { boolean, quote } from "../../../formats/values.ts";
import type { Note } from "../advice.ts";
import {
  type Annotations,
  ENV_PREFIX,
  OPTION_ROWS,
  OPTIONS,
  type OptionName,
  PORT_ROWS,
  PREFIX,
  type ServiceOptions,
} from "./annotations.ts";
import type { Option } from "./option.ts";
import { unknownAnnotations } from "./unknown-annotations.ts";

/** Options, and where each of them comes from. */
export interface Settings {
  readonly options: ServiceOptions;
  /** The source of each option, for messages: an annotation, or the variable for all Services. */
  readonly sources: Readonly<Partial<Record<OptionName, string>>>;
  /** Options with an invalid value: the load balancer keeps what it has. */
  readonly broken: ReadonlySet<OptionName>;
}

/** The settings of a Service, and all mistakes in them: the source, the value, and what is allowed. */
export interface ServiceSettings extends Settings {
  /** Settings by port number: the port's own take precedence over the Service's. */
  readonly ports: ReadonlyMap<number, Settings>;
  readonly mistakes: readonly string[];
  /** Annotations without effect. */
  readonly notes: readonly Note[];
}

/**
 * The settings of a Service: annotations take precedence over cluster-wide defaults, even empty ones. An annotation for
 * a single port, `<name or number of the port>.<option>`, takes precedence over the one for all ports.
 */
export function parseSettings(annotations: Annotations, ports: readonly V1ServicePort[], defaults: ServiceOptions) {
  const known = parsed.get(ports);
  if (known?.annotations === annotations && known.defaults === defaults) return known.settings;
  const settings = parse(annotations, ports, defaults);
  parsed.set(ports, { annotations, defaults, settings });
  return settings;
}

/** Settings by the ports they were parsed for. Objects from a watch are replaced when they change, never modified. */
const parsed = new WeakMap<
  readonly V1ServicePort[],
  { readonly annotations: Annotations; readonly defaults: ServiceOptions; readonly settings: ServiceSettings }
>();

function parse(annotations: Annotations, ports: readonly V1ServicePort[], defaults: ServiceOptions): ServiceSettings {
  const own = readAnnotations(OPTION_ROWS, annotations);
  const whole = over(settingsOfDefaults(defaults), own);
  const named = portsNamedIn(annotations);
  const mistakes = new Set<string>();
  const settingsOf = (port: V1ServicePort) => {
    const shared = withAppProtocol(port, whole);
    if (!named.has(String(port.port)) && !named.has(port.name ?? "")) return shared;
    const read = readPort(port, annotations);
    for (const mistake of read.mistakes) mistakes.add(mistake);
    return over(shared, read);
  };
  return {
    ...whole,
    ports: new Map(ports.map((port) => [port.port, settingsOf(port)])),
    mistakes: [...own.mistakes, ...mistakes],
    notes: unknownAnnotations(annotations, ports),
  };
}

/** Names and numbers of ports that have annotations of their own: most of thousands have none. */
function portsNamedIn(annotations: Annotations): ReadonlySet<string> {
  const own = Object.keys(annotations).filter((key) => key.startsWith(PREFIX));
  return new Set(own.map((key) => key.slice(PREFIX.length).split(".", 1)[0] ?? ""));
}

/** Cluster-wide defaults from the environment. An empty variable counts as not set; for a boolean it is a mistake. */
export function parseDefaults(
  env: Readonly<Record<string, string | undefined>>,
): Pick<ServiceSettings, "options" | "mistakes"> {
  const { options, mistakes } = read(OPTION_ROWS, ({ env: variable, envZeroIsUnset = false, parse }) => {
    if (variable === undefined) return ["", undefined];
    const given = env[ENV_PREFIX + variable]?.trim();
    const text = given === "" && parse !== boolean ? undefined : given;
    return [ENV_PREFIX + variable, envZeroIsUnset && /^0(s|m|h|ms)?$/.test(text ?? "") ? undefined : text];
  });
  return { options, mistakes };
}

type Reading = Settings & Pick<ServiceSettings, "mistakes">;

function readAnnotations(rows: typeof OPTION_ROWS, annotations: Annotations, port = ""): Reading {
  return read(rows, ({ annotation }) => {
    const key = PREFIX + port + annotation;
    return [`annotation ${key}`, annotations[key]];
  });
}

/** Annotations by the port's number take precedence over those by its name. */
function readPort({ name, port }: V1ServicePort, annotations: Annotations): Reading {
  const byNumber = readAnnotations(PORT_ROWS, annotations, `${port}.`);
  if (!name) return byNumber;
  const byName = readAnnotations(PORT_ROWS, annotations, `${name}.`);
  return { ...over(byName, byNumber), mistakes: [...byName.mistakes, ...byNumber.mistakes] };
}

/** Parses one text per option; `lookUp` returns its source and the text. */
function read(
  rows: typeof OPTION_ROWS,
  lookUp: (option: Option<unknown>) => readonly [source: string, text: string | undefined],
): Reading {
  const options: Record<string, unknown> = {};
  const sources: Partial<Record<OptionName, string>> = {};
  const broken = new Set<OptionName>();
  const mistakes: string[] = [];
  for (const [name, option] of rows) {
    const [source, text] = lookUp(option);
    if (text === undefined) continue;
    const parsed = option.parse(text);
    sources[name] = source;
    if ("value" in parsed) options[name] = parsed.value;
    else {
      broken.add(name);
      mistakes.push(`${source}: ${quote(text)} is not ${parsed.allowed}`);
    }
  }
  return { options, sources, broken, mistakes };
}

function settingsOfDefaults(options: ServiceOptions): Settings {
  const names = Object.keys(options) as OptionName[];
  const variable = (name: OptionName) => ENV_PREFIX + (OPTIONS[name] as Option<unknown>).env;
  return { options, sources: Object.fromEntries(names.map((name) => [name, variable(name)])), broken: new Set() };
}

/** Both settings; `above` takes precedence, even where it is invalid. */
function over(below: Settings, above: Settings): Settings {
  const isBelow = (name: OptionName) => above.sources[name] === undefined;
  const kept = Object.entries(below.options).filter(([name]) => isBelow(name as OptionName));
  return {
    options: { ...Object.fromEntries(kept), ...above.options },
    sources: { ...below.sources, ...above.sources },
    broken: new Set([...[...below.broken].filter(isBelow), ...above.broken]),
  };
}

const APP_PROTOCOLS = { tcp: "tcp", http: "http", https: "https" } as const;

/** The port's `appProtocol` takes precedence over the protocol for all ports, if the Service opts in. */
function withAppProtocol({ port, appProtocol = "" }: V1ServicePort, whole: Settings): Settings {
  if (!whole.options.appProtocol || !Object.hasOwn(APP_PROTOCOLS, appProtocol)) return whole;
  const protocol = APP_PROTOCOLS[appProtocol as keyof typeof APP_PROTOCOLS];
  return over(whole, {
    options: { protocol },
    sources: { protocol: `appProtocol of port ${port}` },
    broken: new Set(),
  });
}
