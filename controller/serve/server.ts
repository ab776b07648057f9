/** Serves health, metrics and configuration over HTTPS with authorization, and metrics over plain HTTP like the official controller. */
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse, STATUS_CODES } from "node:http";
import { createServer as createSecureServer, type Server as SecureServer } from "node:https";
import type { Socket } from "node:net";
import type { SecureContextOptions } from "node:tls";
import { isDeepStrictEqual } from "node:util";
import type { Registry } from "prom-client";
import type { SecureConfig } from "../config/config.ts";
import type { ListenAddress } from "../config/flag-values.ts";
import { ConfigError, messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { Access } from "./access.ts";
import { type KeyPair, loadKeyPair } from "./certificate.ts";
import { type Answer, answerHealth, type Checks, checksAt, openIndicators } from "./health.ts";

/** What is served. */
export interface Served {
  readonly registry: Registry;
  readonly checks: Checks;
  /** The effective configuration as JSON, without secrets. */
  readonly configz: string;
  readonly log: Logger;
}

/** Timeouts for silent connections, as in the official controller. */
const LIMITS = { requestTimeout: 10_000, headersTimeout: 5_000, keepAliveTimeout: 30_000 };
/** How often changed certificate files are looked for. */
const RELOAD_MS = 60_000;
/** What is served besides health checks. */
const PATHS: ReadonlySet<string> = new Set(["/metrics", "/metrics/slis", "/configz"]);

/** Starts the HTTPS port. Throws a ConfigError when it is unavailable, because probes rely on it. */
export async function serveSecurely(config: SecureConfig, access: Access, served: Served): Promise<AsyncDisposable> {
  const identity = loadIdentity(config);
  const requestCert = config.clientCaFile !== undefined;
  const options = { ...identity, requestCert, rejectUnauthorized: false, ...LIMITS };
  const indicators = openIndicators();
  const server = createSecureServer(options, (request, response) =>
    reply(request, response, served.log, async (path, query) => {
      // Before any review: strangers could otherwise cause as many reviews as there are paths.
      if (!PATHS.has(path) && !checksAt(path, served.checks)) return undefined;
      const verdict = await access.decide(request, path);
      if (verdict !== 200) return { status: verdict, body: `${STATUS_CODES[verdict]}\n` };
      return answer(path, query, served, indicators);
    }),
  );
  const reload = setInterval(renewal(server, config, { identity, log: served.log }), RELOAD_MS).unref();
  server.on("close", () => clearInterval(reload));
  try {
    return await listen(server, config);
  } catch (error) {
    throw new ConfigError([`--secure-port ${config.port}: ${messageOf(error)}`]);
  }
}

/** What the port proves its identity with, and whose client certificates it accepts. */
type Identity = KeyPair & Pick<SecureContextOptions, "ca" | "minVersion">;

function loadIdentity(config: SecureConfig, pair = loadKeyPair(config)): Identity {
  const { clientCaFile, minVersion } = config;
  return { ...pair, minVersion, ...(clientCaFile !== undefined && { ca: readAuthorities(clientCaFile) }) };
}

/**
 * Reloads certificate, key and client authorities when a file has changed. A context without `ca` would accept clients of
 * every public authority, so all of them are always set together. Half-written files are retried at the next reload.
 */
function renewal(
  server: SecureServer,
  config: SecureConfig,
  { identity, log }: { readonly identity: Identity; readonly log: Logger },
): () => void {
  let current = identity;
  const isSelfSigned = config.certFile === undefined && config.certDir === undefined;
  return () => {
    try {
      const next = loadIdentity(config, isSelfSigned ? identity : undefined);
      if (isDeepStrictEqual(next, current)) return;
      server.setSecureContext(next);
      current = next;
    } catch (error) {
      log.warn({ error: messageOf(error) }, "certificate files unreadable, keeping the previous ones");
    }
  };
}

/** Starts the plain port. If it is unavailable, only the metrics are missing. */
export async function serveMetrics(address: ListenAddress, served: Served): Promise<AsyncDisposable | undefined> {
  const server = createServer(LIMITS, (request, response) =>
    reply(request, response, served.log, async (path) =>
      path === "/metrics" ? renderMetrics(served.registry) : undefined,
    ),
  );
  try {
    return await listen(server, address);
  } catch (error) {
    served.log.warn({ error: messageOf(error) }, "metrics disabled: cannot listen on HCLOUD_METRICS_ADDRESS");
    return undefined;
  }
}

async function answer(
  path: string,
  query: URLSearchParams,
  { registry, checks, configz }: Served,
  { registry: slis, note }: ReturnType<typeof openIndicators>,
): Promise<Answer | undefined> {
  switch (path) {
    case "/metrics":
      return renderMetrics(registry);
    case "/metrics/slis":
      return renderMetrics(slis);
    case "/configz":
      return { status: 200, body: configz, type: "application/json" };
    default:
      return answerHealth(path, query, { checks, note });
  }
}

async function renderMetrics(registry: Registry): Promise<Answer> {
  return { status: 200, body: await registry.metrics(), type: registry.contentType };
}

/** Handles one request: 404 for unknown paths, 405 for anything but reads. */
function reply(
  { method, url = "/" }: IncomingMessage,
  response: ServerResponse,
  log: Logger,
  handle: (path: string, query: URLSearchParams) => Promise<Answer | undefined>,
): void {
  const send = ({ status, body, type = "text/plain; charset=utf-8" }: Answer) => {
    response.writeHead(status, {
      "content-type": type,
      "x-content-type-options": "nosniff",
      "cache-control": "no-store",
    });
    response.end(method === "HEAD" ? undefined : body);
  };
  if (method !== "GET" && method !== "HEAD") {
    send({ status: 405, body: "Method Not Allowed\n" });
    return;
  }
  const [path = "/", query = ""] = url.split("?", 2);
  handle(path, new URLSearchParams(query))
    .then((known) => send(known ?? { status: 404, body: "Not Found\n" }))
    .catch((error: unknown) => {
      log.warn({ path, error: messageOf(error) }, "request failed");
      send({ status: 500, body: "Internal Server Error\n" });
    });
}

function readAuthorities(file: string): string {
  try {
    const authorities = readFileSync(file, "utf8");
    if (authorities.includes("-----BEGIN CERTIFICATE-----")) return authorities;
    throw new Error(`${file} contains no certificate`);
  } catch (error) {
    throw new ConfigError([`--client-ca-file: ${messageOf(error)}`]);
  }
}

/** As in Go, these stand for all addresses of both families. */
const UNSPECIFIED: ReadonlySet<string | undefined> = new Set(["0.0.0.0", "::", undefined]);

async function listen(server: Server, { host, port }: ListenAddress): Promise<AsyncDisposable> {
  const connections = new Set<Socket>();
  server.on("connection", (socket: Socket) => {
    connections.add(socket);
    socket.once("close", () => connections.delete(socket));
  });
  server.listen({ port, ...(!UNSPECIFIED.has(host) && { host }) });
  await once(server, "listening");
  return {
    [Symbol.asyncDispose]: () => {
      const closed = server[Symbol.asyncDispose]();
      // `closeAllConnections` misses those that have not finished the TLS handshake.
      for (const socket of connections) socket.destroy();
      return closed;
    },
  };
}
