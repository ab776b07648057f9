/** Parsers for settings. Some values become part of names, shell scripts and firewall rules, so the parsers are strict. */
import ssh2 from "ssh2";
import { mapped, matching } from "../../controller/config/flag-values.ts";
import { oneOf, type Parser } from "../../controller/formats/values.ts";
import { isPrivate, isRange, parseCidr } from "../cloud/state/cidr.ts";

/** Begins the names of servers, which are host names. */
export const environmentName = matching(
  /^[a-z]([a-z0-9-]{0,28}[a-z0-9])?$/,
  "a name of at most 30 lower-case letters, digits and dashes",
);

/** A number of control planes: etcd needs a majority. */
export const controlPlaneCount = mapped(oneOf("1", "3"), Number);

/** A server type. The API's price list says which exist. */
export const typeName = matching(/^[a-z]{2,5}\d{1,3}$/, "a server type such as cx23");

/** A release channel of k3s. */
export const k3sChannel = matching(/^(stable|latest|testing|v1\.\d{1,2})$/, "stable, latest, testing or v1.34");

/** An image with a tag. Empty means none. */
export const imageReference = matching(
  /^([a-z0-9][a-z0-9._/:-]*:[\w][\w.-]{0,127})?$/,
  "an image with a tag, such as registry.example/lotse:dev",
);

/** One or several CIDRs, of either family. */
export const cidrList: Parser<readonly string[]> = (text) => {
  const value = text.split(",").map((cidr) => cidr.trim());
  return value.every(isRange) ? { value } : { allowed: "a comma-separated list of CIDRs without host bits" };
};

/** A range of private IPv4 addresses. */
export const privateRange: Parser<string> = (value) => {
  const range = parseCidr(value);
  const allowed = "a range of private IPv4 addresses such as 10.0.0.0/8, given by its first address";
  return range && isPrivate(range) ? { value } : { allowed };
};

/** An OpenSSH public key. */
export const publicKey: Parser<string> = (value) => {
  const key = ssh2.utils.parseKey(value);
  const isPublic = !(key instanceof Error) && !key.isPrivateKey() && !/[\r\n]/.test(value.trim());
  return isPublic ? { value: value.trim() } : { allowed: "an OpenSSH public key such as ssh-ed25519 AAAA…" };
};
