/** Texts of this environment's own options → values. Some end up in names and in a shell, so they are strict. */
import ipaddr from "ipaddr.js";
import type { Parser } from "../../controller/formats/values.ts";

const matching =
  (pattern: RegExp, allowed: string): Parser<string> =>
  (value) =>
    pattern.test(value) ? { value } : { allowed };

/** Begins the names of servers, which are host names. */
export const environmentName = matching(
  /^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$/,
  "a name of at most 30 lower-case letters, digits and dashes",
);

/** A server type; the cloud knows which exist. */
export const typeName = matching(/^[a-z]{2,5}\d{1,3}$/, "a server type such as cx23");

/** A release channel of k3s. */
export const k3sChannel = matching(/^(stable|latest|testing|v1\.\d{1,2})$/, "stable, latest, testing or v1.34");

/** An image with a tag, so that it is known what runs. Empty means none. */
export const imageReference = matching(
  /^([a-z0-9][a-z0-9._/:-]*:[\w][\w.-]{0,127})?$/,
  "an image with a tag, such as registry.example/lotse:dev",
);

/** One or several CIDRs, of either family. */
export const cidrList: Parser<readonly string[]> = (text) => {
  const value = text.split(",").map((cidr) => cidr.trim());
  const isFine = value.every((cidr) => ipaddr.IPv4.isValidCIDRFourPartDecimal(cidr) || ipaddr.IPv6.isValidCIDR(cidr));
  return isFine ? { value } : { allowed: "a comma-separated list of CIDRs" };
};
