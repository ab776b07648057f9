/** Chooses the proxy for a URL by the rules of Go programs, for which existing manifests are written. */
import { isIP } from "node:net";
import ipaddr from "ipaddr.js";

type Env = Readonly<Record<string, string | undefined>>;

/** URL of the proxy; undefined for a direct connection. Loopback addresses never use a proxy. */
export function proxyFor(url: URL, env: Env): string | undefined {
  const name = url.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY";
  const proxy = valueIn(env, name);
  if (!proxy || isLoopback(hostOf(url)) || isExempt(url, valueIn(env, "NO_PROXY") ?? "")) return undefined;
  return proxy.includes("://") ? proxy : `http://${proxy}`;
}

/** Entries are `*`, addresses, CIDRs, and domains: `a.b` includes subdomains, `.a.b` matches only those. A port may follow. */
function isExempt(url: URL, list: string): boolean {
  const host = hostOf(url);
  const port = url.port || (url.protocol === "https:" ? "443" : "80");
  return list
    .split(",")
    .map((entry) => entry.trim().toLowerCase())
    .filter((entry) => entry !== "")
    .some((entry) => entry === "*" || matches(entry, host, port));
}

function matches(entry: string, host: string, port: string): boolean {
  const { name = entry, only } = /^(?<name>\[.+\]|[^:]+):(?<only>\d+)$/.exec(entry)?.groups ?? {};
  if (only !== undefined && only !== port) return false;
  const bare = name.replace(/^\[(.+)\]$/, "$1");
  if (ipaddr.isValidCIDR(bare)) return isIP(host) !== 0 && isWithin(host, bare);
  if (isIP(bare)) return isIP(host) !== 0 && ipaddr.process(host).toString() === ipaddr.process(bare).toString();
  const domain = bare.replace(/^\*?\./, "");
  return host.endsWith(`.${domain}`) || (host === domain && domain === bare);
}

function isWithin(host: string, cidr: string): boolean {
  const [address, range] = [ipaddr.process(host), ipaddr.parseCIDR(cidr)];
  return address.kind() === range[0].kind() && address.match(range);
}

function isLoopback(host: string): boolean {
  return host === "localhost" || (isIP(host) !== 0 && ipaddr.process(host).range() === "loopback");
}

function hostOf({ hostname }: URL): string {
  return hostname
    .toLowerCase()
    .replace(/^\[(.+)\]$/, "$1")
    .replace(/\.$/, "");
}

/** The upper-case name takes precedence, as in Go. */
function valueIn(env: Env, name: string): string | undefined {
  return env[name] || env[name.toLowerCase()];
}
