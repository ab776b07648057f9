/** Texts of flags and environment variables of the whole program → values; those of Services are in service/values.ts. */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";
import { boolean, oneOf, type Parser, seconds } from "../formats/values.ts";

export const anything: Parser<string> = (value) => ({ value });

/** A text; nothing when it is empty. */
export const text: Parser<string | undefined> = (value) => ({ value: value || undefined });

/** A text of a certain form; `allowed` says which. */
export function matching(form: RegExp, allowed: string): Parser<string> {
  return (value) => (form.test(value) ? { value } : { allowed });
}

/** What a parser finds, made into something else. */
export function mapped<From, To>(parse: Parser<From>, convert: (value: From) => To): Parser<To> {
  return (input) => {
    const parsed = parse(input);
    return "value" in parsed ? { value: convert(parsed.value) } : parsed;
  };
}

/** Where the stack's state is kept. */
export const stateLocation = matching(
  /^(cluster|none)$|^(file|s3|gs|azblob|postgres):\/\//,
  "cluster, none, or a file://, s3://, gs://, azblob:// or postgres:// address",
);

/** A name that a stack may have. */
export const clusterName = matching(/^[A-Za-z0-9][\w.-]{0,99}$/, "a name of letters, digits, dots and dashes");

/** A name that an object of Kubernetes may have. */
export const objectName = matching(
  /^(?=.{1,253}$)[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/,
  "a name of lower-case letters, digits, dots and dashes",
);

/** Beginnings of label keys. */
export const prefixes: Parser<readonly string[]> = (input) => {
  const value = input.split(",").map((prefix) => prefix.trim());
  const isFine = value.every((prefix) => /^[a-z0-9][a-zA-Z0-9._/-]*$/.test(prefix));
  return isFine ? { value } : { allowed: "a comma-separated list of beginnings of label keys" };
};

/** As Go reads them: `10.244/16` is none. */
const isCidr = (text: string) => ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text);

/** Pod ranges: one, or one of each family. */
export const cidrs: Parser<readonly string[]> = (input) => {
  const value = input.split(",").map((cidr) => cidr.trim());
  const families = value.map((cidr) => (isCidr(cidr) ? ipaddr.parseCIDR(cidr)[0].kind() : "none"));
  const isFine = !families.includes("none") && new Set(families).size === value.length;
  return isFine ? { value } : { allowed: "one CIDR, or one of each IP family" };
};

/** An address to send requests to. */
export const url: Parser<string> = (value) =>
  URL.canParse(value) && /^https?:/.test(value) ? { value } : { allowed: "an http or https address" };

/** Seconds, in milliseconds. A timer cannot wait for more than 24 days: a longer one fires at once. */
export const period: Parser<number> = (input) =>
  Number(input) > 0 && Number(input) <= 86_400
    ? { value: Number(input) * 1000 }
    : { allowed: "a number of seconds above 0, up to 86400" };

/** A duration in Go's syntax, in milliseconds; the bounds are in seconds. */
export const duration = (least: number, most: number) => mapped(seconds(least, most), (value) => value * 1000);

/** A whole number from 0. */
export const natural = mapped(matching(/^\d+$/, "a whole number"), Number);

/** Where Secrets are read: everywhere, nowhere, or in some namespaces. */
export const secretScope: Parser<{ readonly namespaces?: readonly string[] } | undefined> = (input) => {
  const isOn = boolean(input);
  if ("value" in isOn) return { value: isOn.value ? {} : undefined };
  const namespaces = input.split(",").map((name) => name.trim());
  const isFine = namespaces.every((name) => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name));
  return isFine ? { value: { namespaces } } : { allowed: "true, false, or namespaces separated by commas" };
};

export const ipAddress: Parser<string> = (value) => (isIP(value) ? { value } : { allowed: "an IP address" });

const TLS_VERSIONS = { versiontls12: "TLSv1.2", versiontls13: "TLSv1.3" } as const;
export const tlsVersion = mapped(oneOf("versiontls12", "versiontls13"), (name) => TLS_VERSIONS[name]);

/** Paths of requests. */
export const paths: Parser<readonly string[]> = (input) => {
  const value = input.split(",").filter((path) => path !== "");
  return value.every((path) => path.startsWith("/")) ? { value } : { allowed: "a list of paths that begin with /" };
};

export interface ListenAddress {
  /** Absent means every address of the machine. */
  readonly host?: string;
  readonly port: number;
}

/** As Go writes it: `:8233`, `127.0.0.1:8233`, `[::1]:8233`. */
export const hostAndPort: Parser<ListenAddress> = (input) => {
  const match = /^(?:\[(?<ipv6>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]]*)):(?<port>\d{1,5})$/.exec(input);
  const { ipv6, host = ipv6, port } = match?.groups ?? {};
  if (port === undefined || Number(port) > 65_535) return { allowed: "host:port or :port" };
  return { value: { ...(host && { host }), port: Number(port) } };
};

export interface Secret {
  readonly value?: string;
  /** Where it came from; it is read again when the file changes. */
  readonly file?: string;
}

/** From the variable itself, or from the file that `<variable>_FILE` names; never shown. */
export const secret: Parser<Secret> = (value) => ({ value: { value } });
