/** Exchanges with the API in a form that may be published: without secrets, and without what identifies the account. */
import ipaddr from "ipaddr.js";
import { parseJson } from "../../controller/diagnostics/printable.ts";
import type { Exchange } from "./proxy.ts";

/** One exchange. Bodies are parsed; absent means that there was none. */
export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly sent?: unknown;
  readonly status: number;
  readonly answer?: unknown;
  readonly startedMs: number;
  readonly endedMs: number;
}

/** Fields that are replaced by their name: secrets, and certificates, which may name the account's domains. */
const REPLACED: ReadonlySet<string> = new Set([
  "certificate",
  "fingerprint",
  "password",
  "private_key",
  "public_key",
  "root_password",
  "token",
  "user_data",
]);

/** The domain that stands for the account's. */
const DOMAIN = "example.org";

/** Sanitises exchanges. `domain` is the account's, if any. Equal addresses stay equal. */
export function record(exchanges: readonly Exchange[], domain?: string): readonly Recorded[] {
  const addresses = new Map<string, string>();
  const replaceText = (text: string): string => {
    const hidden = domain === undefined ? text : text.replaceAll(domain, DOMAIN);
    const [address = "", ...rest] = hidden.split("/");
    if (/^static\..*your-server\.de$/.test(hidden)) return "static.clients.your-server.de";
    return isPublic(address) ? [addressFor(address, addresses), ...rest].join("/") : hidden;
  };
  const replace = (key: string, value: unknown): unknown => {
    if (REPLACED.has(key) && typeof value === "string") return `<${key}>`;
    return typeof value === "string" ? replaceText(value) : value;
  };
  const clean = (body: string | undefined): unknown =>
    body ? JSON.parse(JSON.stringify(parseJson(body) ?? "not JSON"), replace) : undefined;
  return exchanges.map(({ method, path, body, status, answer, startedMs, endedMs }) => {
    const [sent, received] = [clean(body), clean(answer)];
    const times = { startedMs: Math.round(startedMs), endedMs: Math.round(endedMs) };
    return {
      method,
      path,
      ...(sent !== undefined && { sent }),
      status,
      ...(received !== undefined && { answer: received }),
      ...times,
    };
  });
}

/** Whether a text is an address outside the private ranges. */
function isPublic(text: string): boolean {
  // A number alone would count as an IPv4 address.
  if (!/[.:]/.test(text) || !ipaddr.isValid(text)) return false;
  return !["private", "uniqueLocal", "unspecified", "loopback"].includes(ipaddr.parse(text).range());
}

/** An address for documentation, the same one each time. */
function addressFor(address: string, known: Map<string, string>): string {
  const index = known.size + 1;
  const made = address.includes(":")
    ? `2001:db8:${index.toString(16)}::`
    : `203.0.${113 + (index >> 8)}.${index & 255}`;
  const found = known.get(address) ?? (address.endsWith("::") || !made.includes(":") ? made : `${made}1`);
  known.set(address, found);
  return found;
}
