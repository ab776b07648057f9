/** Parsers for flags and environment variables; those that annotations share are in formats/values.ts. */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { boolean, oneOf, type Parser, seconds } from "../formats/values.ts";

/** Any text. */
export const anything: Parser<string> = (value) => ({ value });

/** Any text; undefined when it is empty. */
export const text: Parser<string | undefined> = (value) => ({ value: value || undefined });

/** Text that matches a pattern, which `allowed` describes. */
export function matching(form: RegExp, allowed: string): Parser<string> {
  return (value) => (form.test(value) ? { value } : { allowed });
}

/** A parser whose value is converted. */
export function mapped<From, To>(parse: Parser<From>, convert: (value: From) => To): Parser<To> {
  return (input) => {
    const parsed = parse(input);
    return "value" in parsed ? { value: convert(parsed.value) } : parsed;
  };
}

/** Where the Pulumi state is kept. */
export const stateLocation = matching(
  /^(cluster|none)$|^(file|s3|gs|azblob|postgres|https):\/\//,
  "cluster, none, or a file://, s3://, gs://, azblob://, postgres:// or https:// URL",
);

/** A valid name of a Pulumi stack, with which names of Kubernetes objects can end. */
export const clusterName = matching(
  /^(?=.{1,100}$)[A-Za-z0-9]([\w-]*[A-Za-z0-9])?(\.[A-Za-z0-9]([\w-]*[A-Za-z0-9])?)*$/,
  "a name of letters, digits, dots, dashes and underscores, with a letter or digit at both ends and around each dot",
);

/** A valid name of a Kubernetes object. */
export const objectName = matching(
  /^(?=.{1,253}$)[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/,
  "a name of lower-case letters, digits, dots and dashes",
);

/** Prefixes of label keys. */
export const prefixes: Parser<readonly string[]> = (input) => {
  const value = input.split(",").map((prefix) => prefix.trim());
  const isFine = value.every((prefix) => /^[a-z0-9][a-zA-Z0-9._/-]*$/.test(prefix));
  return isFine ? { value } : { allowed: "a comma-separated list of label key prefixes" };
};

/** As in Go, short forms such as `10.244/16` are invalid. */
const isCidr = (text: string) => ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text);

/** Pod CIDRs: one, or one per IP family. */
export const cidrs: Parser<readonly string[]> = (input) => {
  const value = input.split(",").map((cidr) => cidr.trim());
  const families = value.map((cidr) => (isCidr(cidr) ? ipaddr.parseCIDR(cidr)[0].kind() : "none"));
  const isFine = !families.includes("none") && new Set(families).size === value.length;
  return isFine ? { value } : { allowed: "one CIDR, or one per IP family" };
};

/** The base URL of an API. */
export const url: Parser<string> = (value) =>
  URL.canParse(value) && /^https?:/.test(value) ? { value } : { allowed: "an http or https URL" };

/** A duration in Go's syntax → milliseconds. The bounds are in seconds; a timer of more than 24 days would fire at once. */
export const duration = (least: number, most: number) => mapped(seconds(least, most), (value) => value * 1000);

/** A non-negative integer. */
export const natural = mapped(matching(/^\d+$/, "a whole number, 0 or more"), Number);

/** Where Secrets may be read: in all namespaces (`{}`), in none (undefined), or in the listed ones. */
export const secretScope: Parser<{ readonly namespaces?: readonly string[] } | undefined> = (input) => {
  const isOn = boolean(input);
  if ("value" in isOn) return { value: isOn.value ? {} : undefined };
  const namespaces = input.split(",").map((name) => name.trim());
  const isFine = namespaces.every((name) => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name));
  return isFine ? { value: { namespaces } } : { allowed: "true, false, or a comma-separated list of namespaces" };
};

/** An IPv4 or IPv6 address. */
export const ipAddress: Parser<string> = (value) => (isIP(value) ? { value } : { allowed: "an IP address" });

const TLS_VERSIONS = { versiontls12: "TLSv1.2", versiontls13: "TLSv1.3" } as const;
/** Upstream's name of a TLS version → the name Node.js uses. */
export const tlsVersion = mapped(oneOf("versiontls12", "versiontls13"), (name) => TLS_VERSIONS[name]);

/** Request paths, of which a last `*` stands for anything. As upstream, the first `/` may be missing. */
export const paths: Parser<readonly string[]> = (input) => {
  const given = input.split(",").filter((path) => path !== "");
  const value = given.map((path) => (path.startsWith("/") ? path : `/${path}`));
  return value.every((path) => !path.slice(0, -1).includes("*"))
    ? { value }
    : { allowed: "a comma-separated list of paths, in which only the last character may be *" };
};

/** An address to listen on. */
export interface ListenAddress {
  /** Absent means all addresses of the machine. */
  readonly host?: string;
  readonly port: number;
}

/** In Go's syntax: `:8233`, `127.0.0.1:8233`, `[::1]:8233`. */
export const hostAndPort: Parser<ListenAddress> = (input) => {
  const match = /^(?:\[(?<ipv6>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]]*)):(?<port>\d{1,5})$/.exec(input);
  const { ipv6, host = ipv6, port } = match?.groups ?? {};
  if (port === undefined || Number(port) > 65_535) return { allowed: "host:port or :port" };
  return { value: { ...(host && { host }), port: Number(port) } };
};

/** A secret, and where it was read from. */
export interface Secret {
  readonly value?: string;
  /** The file it was read from; it is read again when the file changes. */
  readonly file?: string;
}

/** Marks a setting as secret: it may come from the file named by `<variable>_FILE`, and is never shown. */
export const secret: Parser<Secret> = (value) => ({ value: { value } });

/** Upstream's name and alias for each controller. */
const CONTROLLERS = {
  node: ["cloud-node-controller", "cloud-node"],
  lifecycle: ["cloud-node-lifecycle-controller", "cloud-node-lifecycle"],
  service: ["service-lb-controller", "service"],
  route: ["node-route-controller", "route"],
} as const;

/**
 * Which of the framework's controllers run: names, aliases, `*` and `-name`. The first entry that names a controller decides,
 * otherwise `*`. An empty list disables every controller.
 */
export const controllers: Parser<Readonly<Record<keyof typeof CONTROLLERS, boolean>>> = (text) => {
  const words = text.split(",").map((word) => word.trim());
  const known: readonly string[] = Object.values(CONTROLLERS).flat();
  const unknown = words.filter((word) => word !== "" && word !== "*" && !known.includes(word.replace(/^-/, "")));
  if (unknown.length > 0)
    return { allowed: `a list of *, name and -name (unknown: ${unknown.join(", ")}; known: ${known.join(", ")})` };
  const isOn = (names: readonly string[]) => {
    const word = words.find((candidate) => names.includes(candidate.replace(/^-/, "")));
    return word === undefined ? words.includes("*") : !word.startsWith("-");
  };
  const { node, lifecycle, service, route } = CONTROLLERS;
  return { value: { node: isOn(node), lifecycle: isOn(lifecycle), service: isOn(service), route: isOn(route) } };
};
