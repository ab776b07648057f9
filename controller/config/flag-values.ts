/** Texts of flags and environment variables of the whole program → values; those of Services are in service/values.ts. */
import ipaddr from "ipaddr.js";
import { boolean, type Parser } from "../service/values.ts";

/** Where the stack's state is kept. */
export const stateLocation: Parser<string> = (value) =>
  value === "cluster" || value === "none" || /^(file|s3|gs|azblob|postgres):\/\//.test(value)
    ? { value }
    : { allowed: "cluster, none, or a file://, s3://, gs://, azblob:// or postgres:// address" };

/** A name that a stack may have. */
export const clusterName: Parser<string> = (value) =>
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$/.test(value)
    ? { value }
    : { allowed: "a name of letters, digits, dots and dashes" };

/** A name that an object of Kubernetes may have. */
export const objectName: Parser<string> = (value) =>
  value.length <= 253 && /^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$/.test(value)
    ? { value }
    : { allowed: "a name of lower-case letters, digits, dots and dashes" };

/** Beginnings of label keys. */
export const prefixes: Parser<readonly string[]> = (text) => {
  const value = text.split(",").map((prefix) => prefix.trim());
  const isFine = value.every((prefix) => /^[a-z0-9][a-zA-Z0-9._/-]*$/.test(prefix));
  return isFine ? { value } : { allowed: "a comma-separated list of beginnings of label keys" };
};

/** Pod ranges: one, or one of each family. */
export const cidrs: Parser<readonly string[]> = (text) => {
  const value = text.split(",").map((cidr) => cidr.trim());
  const families = value.map((cidr) => (isCidr(cidr) ? ipaddr.parseCIDR(cidr)[0].kind() : "none"));
  const isFine = !families.includes("none") && new Set(families).size === value.length;
  return isFine ? { value } : { allowed: "one CIDR, or one of each IP family" };
};

/** As Go reads them: `10.244/16` is none. */
function isCidr(text: string): boolean {
  return ipaddr.IPv4.isValidCIDRFourPartDecimal(text) || ipaddr.IPv6.isValidCIDR(text);
}

/** An address to send requests to. */
export const url: Parser<string> = (text) =>
  URL.canParse(text) && /^https?:/.test(text) ? { value: text } : { allowed: "an http or https address" };

/** A timer cannot wait for more than 24 days: a longer one fires at once. */
export const period: Parser<number> = (text) =>
  Number(text) > 0 && Number(text) <= 86_400
    ? { value: Number(text) }
    : { allowed: "a number of seconds above 0, up to 86400" };

/** A whole number from 0. */
export const natural: Parser<number> = (text) =>
  /^\d+$/.test(text) ? { value: Number(text) } : { allowed: "a whole number" };

/** Where Secrets are read: everywhere, nowhere, or in some namespaces. */
export const secretScope: Parser<{ readonly namespaces?: readonly string[] } | undefined> = (text) => {
  const isOn = boolean(text);
  if ("value" in isOn) return { value: isOn.value ? {} : undefined };
  const namespaces = text.split(",").map((name) => name.trim());
  const isFine = namespaces.every((name) => /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/.test(name));
  return isFine ? { value: { namespaces } } : { allowed: "true, false, or namespaces separated by commas" };
};
