/** Servers: free ports, start and end, and readiness checks. */
import { once } from "node:events";
import { request } from "node:https";
import { type AddressInfo, connect, createServer, type Server } from "node:net";

/** Ports that this process has been given. Most are in use a moment later, and none is given twice. */
const given = new Set<number>();

/** A free port of 127.0.0.1. Another process may take it first, so callers must be able to retry. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  const port = await listen(server);
  await closeServer(server);
  if (given.has(port)) return findFreePort();
  given.add(port);
  return port;
}

/** Makes a server listen, by default on a free port of loopback. Returns the port. Rejects if it is unavailable. */
export async function listen(server: Server, port = 0, host = "127.0.0.1"): Promise<number> {
  server.listen(port, host);
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Stops a server, and closes all connections of an HTTP server. */
export async function closeServer(server: Server & { closeAllConnections?(): void }): Promise<void> {
  const closed = once(server, "close");
  server.close();
  server.closeAllConnections?.();
  await closed;
}

/** Whether the Unix socket accepts connections. */
export function acceptsConnections(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ path });
    const settle = (isAccepted: boolean) => {
      socket.destroy();
      resolve(isAccepted);
    };
    socket.once("connect", () => settle(true));
    socket.once("error", () => settle(false));
  });
}

/** Credentials of a client, in PEM format. */
export interface ClientTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** Whether a GET returns 200 within the time limit. */
export function answersOk(url: string, tls: ClientTls, timeoutMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const get = request(url, { ...tls, agent: false, signal: AbortSignal.timeout(timeoutMs) }, (response) => {
      response.resume();
      response.once("close", () => resolve(response.statusCode === 200));
    });
    get.once("error", () => resolve(false));
    get.end();
  });
}
