/** Listeners for HTTP, HTTPS and redirects. */
import {
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type RequestListener,
  type ServerResponse,
} from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { Socket } from "node:net";
import { createSecureContext, type SecureContext } from "node:tls";
import { closeServer, listen } from "../../cluster/loopback.ts";
import { type Backend, type KeyPair, type ListenerPlan, socketTo } from "./plan.ts";
import type { Pool } from "./pool.ts";
import { connectionOf, connectWithHeader, proxyHeader } from "./proxy-protocol.ts";
import { readCookie, renderCookie, stickyValue } from "./sticky.ts";
import { joinSockets } from "./tcp-listener.ts";

/** Opens a listener that forwards HTTP or HTTPS requests, or redirects HTTP to HTTPS. Call the result to close it. */
export async function openHttpListener(pool: Pool): Promise<() => Promise<void>> {
  const { kind, port, host } = pool.plan;
  const handle: RequestListener =
    kind === "redirect"
      ? (request, response) => redirect(pool.plan, request, response)
      : (request, response) => forward(pool, request, response);
  const server = kind === "https" ? secureServer(pool, handle) : createServer(handle);
  server.keepAliveTimeout = (pool.plan.service.http?.timeout_idle ?? 50) * 1000;
  server.on("upgrade", (request: IncomingMessage, socket: Socket, head: Buffer) =>
    tunnel(pool, { request, socket, head }),
  );
  await listen(server, port, host);
  return () => closeServer(server);
}

/** Selects the certificate for each connection, because certificates may change while the socket is open. */
function secureServer(pool: Pool, handle: RequestListener) {
  const contexts = new Map<string, SecureContext>();
  const contextOf = ({ certificate: cert, privateKey: key }: KeyPair): SecureContext => {
    const known = contexts.get(cert) ?? createSecureContext({ cert, key });
    contexts.set(cert, known);
    return known;
  };
  const SNICallback = (name: string, done: (error: Error | null, context?: SecureContext) => void) => {
    const pair = pool.plan.keyPairs.find(({ domainNames }) => domainNames.some((domain) => covers(domain, name)));
    const chosen = pair ?? pool.plan.keyPairs[0];
    done(null, chosen && contextOf(chosen));
  };
  const server = createTlsServer({ SNICallback }, handle);
  let shown: string | undefined;
  // Clients without SNI get the first certificate.
  server.prependListener("connection", () => {
    const [first] = pool.plan.keyPairs;
    if (!first || first.certificate === shown) return;
    shown = first.certificate;
    server.setSecureContext({ cert: first.certificate, key: first.privateKey });
  });
  return server;
}

function covers(domain: string, name: string): boolean {
  if (!domain.startsWith("*.")) return domain === name;
  return name.slice(name.indexOf(".")) === domain.slice(1);
}

function redirect({ service }: ListenerPlan, request: IncomingMessage, response: ServerResponse): void {
  const host = (request.headers.host ?? "").replace(/:\d+$/, "");
  const port = service.listen_port === 443 ? "" : `:${service.listen_port}`;
  response.writeHead(301, { Location: `https://${host}${port}${request.url ?? "/"}` }).end();
}

/** The backend named by the client's cookie, or else the next one. */
function choose(
  pool: Pool,
  request: IncomingMessage,
): { readonly backend: Backend | undefined; readonly cookie?: string } {
  const { http } = pool.plan.service;
  if (!http?.sticky_sessions) return { backend: pool.pick() };
  const value = readCookie(request.headers.cookie, http.cookie_name);
  const known = pool.find((target) => stickyValue(target) === value);
  if (known) return { backend: known };
  const backend = pool.pick();
  return backend ? { backend, cookie: renderCookie(http, backend.target) } : { backend };
}

function forward(pool: Pool, request: IncomingMessage, response: ServerResponse): void {
  const { backend, cookie } = choose(pool, request);
  if (!backend?.host) {
    refuse(response, 503);
    return;
  }
  const leave = pool.occupy(backend);
  const address = socketTo(backend);
  const upstream = httpRequest({
    ...address,
    method: request.method,
    path: request.url,
    headers: forwardedHeaders(pool, request),
    agent: false,
    ...(pool.plan.service.proxyprotocol
      ? { createConnection: () => connectWithHeader(address, proxyHeader(connectionOf(request.socket))) }
      : {}),
  });
  upstream.on("response", (answer) => {
    const cookies = [...(answer.headers["set-cookie"] ?? []), ...(cookie ? [cookie] : [])];
    const headers = { ...endToEnd(answer.headers), ...(cookies.length > 0 ? { "set-cookie": cookies } : {}) };
    response.writeHead(answer.statusCode ?? 502, headers);
    answer.pipe(response);
  });
  upstream.on("error", () => refuse(response, 502));
  response.once("close", () => {
    leave();
    if (!response.writableFinished) upstream.destroy();
  });
  request.pipe(upstream);
}

function refuse(response: ServerResponse, status: 502 | 503): void {
  if (response.headersSent) response.destroy();
  else response.writeHead(status, { "Content-Type": "text/plain" }).end(`${status}\n`);
}

function forwardedHeaders(pool: Pool, { headers, socket }: IncomingMessage) {
  const before = headers["x-forwarded-for"];
  return {
    ...endToEnd(headers),
    "x-forwarded-for": [before, socket.remoteAddress].filter(Boolean).join(", "),
    "x-forwarded-proto": pool.plan.kind === "https" ? "https" : "http",
    "x-forwarded-port": String(pool.plan.port),
  };
}

/** Removes hop-by-hop headers. */
function endToEnd({ connection: _c, "keep-alive": _k, ...headers }: IncomingHttpHeaders): IncomingHttpHeaders {
  return headers;
}

interface Upgrade {
  readonly request: IncomingMessage;
  readonly socket: Socket;
  readonly head: Buffer;
}

/** Handles upgrades such as WebSockets: forwards the request, then copies bytes in both directions. */
function tunnel(pool: Pool, { request, socket, head }: Upgrade): void {
  const { backend } = choose(pool, request);
  if (!backend?.host) {
    socket.destroy();
    return;
  }
  const leave = pool.occupy(backend);
  const address = socketTo(backend);
  const header = pool.plan.service.proxyprotocol ? proxyHeader(connectionOf(socket)) : Buffer.alloc(0);
  const upstream = connectWithHeader(address, header);
  const lines = { ...forwardedHeaders(pool, request), connection: "Upgrade" };
  const headers = Object.entries(lines).map(([name, value]) => `${name}: ${value}\r\n`);
  upstream.write(`${request.method} ${request.url} HTTP/1.1\r\n${headers.join("")}\r\n`);
  upstream.write(head);
  joinSockets(socket, upstream, leave);
}
