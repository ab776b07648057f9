/** Where health and metrics are served, and to whom. */
import { isIP } from "node:net";
import type { Reading } from "../config/reading.ts";
import { boolean, integer, oneOf, type Parser, seconds } from "../service/values.ts";

export interface ListenAddress {
  /** Absent means every address of the machine. */
  readonly host?: string;
  readonly port: number;
}

export interface ServeConfig {
  /** Plain HTTP with metrics alone; absent when switched off. */
  readonly metrics?: ListenAddress;
  /** HTTPS with everything; absent when switched off. */
  readonly secure?: SecureConfig;
}

export interface SecureConfig extends ListenAddress {
  readonly certDir?: string;
  readonly certFile?: string;
  readonly keyFile?: string;
  readonly minVersion: "TLSv1.2" | "TLSv1.3";
  readonly clientCaFile?: string;
  readonly authenticationKubeconfig?: string;
  readonly authorizationKubeconfig?: string;
  /** Paths that need no authentication. */
  readonly openPaths: readonly string[];
  readonly tokenTtlMs: number;
  readonly allowedTtlMs: number;
  readonly deniedTtlMs: number;
}

export function loadServeConfig(read: Reading): ServeConfig {
  const port = read.flag("secure-port", integer(0, 65_535), 10_258);
  const host = read.flag("bind-address", address, "0.0.0.0");
  const secure = loadSecureConfig(read, { host, port });
  const hasMetrics = read.env("HCLOUD_METRICS_ENABLED", boolean, true);
  const metrics = read.env("HCLOUD_METRICS_ADDRESS", hostAndPort, { port: 8233 });
  return { ...(hasMetrics && { metrics }), ...(port > 0 && { secure }) };
}

function loadSecureConfig(read: Reading, listen: ListenAddress): SecureConfig {
  const ttl = (flag: string) => read.flag(flag, seconds(0, 3_600), 10) * 1000;
  const tls = read.flag("tls-min-version", oneOf("versiontls12", "versiontls13"), "versiontls12");
  const config: SecureConfig = {
    ...listen,
    ...read.text("certDir", "cert-dir"),
    ...read.text("certFile", "tls-cert-file"),
    ...read.text("keyFile", "tls-private-key-file"),
    minVersion: tls === "versiontls13" ? "TLSv1.3" : "TLSv1.2",
    ...read.text("clientCaFile", "client-ca-file"),
    ...read.text("authenticationKubeconfig", "authentication-kubeconfig"),
    ...read.text("authorizationKubeconfig", "authorization-kubeconfig"),
    openPaths: read.flag("authorization-always-allow-paths", paths, ["/healthz", "/readyz", "/livez"]),
    tokenTtlMs: ttl("authentication-token-webhook-cache-ttl"),
    allowedTtlMs: ttl("authorization-webhook-cache-authorized-ttl"),
    deniedTtlMs: ttl("authorization-webhook-cache-unauthorized-ttl"),
  };
  if ((config.certFile === undefined) !== (config.keyFile === undefined)) {
    read.mistakes.push("--tls-cert-file and --tls-private-key-file: set both, or none");
  }
  return config;
}

const address: Parser<string> = (text) => (isIP(text) ? { value: text } : { allowed: "an IP address" });

const paths: Parser<readonly string[]> = (text) => {
  const value = text.split(",").filter((path) => path !== "");
  return value.every((path) => path.startsWith("/")) ? { value } : { allowed: "a list of paths that begin with /" };
};

/** As Go writes it: `:8233`, `127.0.0.1:8233`, `[::1]:8233`. */
const hostAndPort: Parser<ListenAddress> = (text) => {
  const match = /^(?:\[(?<ipv6>[0-9a-fA-F:.]+)\]|(?<host>[^:[\]]*)):(?<port>\d{1,5})$/.exec(text);
  const { ipv6, host = ipv6, port } = match?.groups ?? {};
  if (port === undefined || Number(port) > 65_535) return { allowed: "host:port or :port" };
  return { value: { ...(host && { host }), port: Number(port) } };
};
