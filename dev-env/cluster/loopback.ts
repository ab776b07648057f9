/** Free ports and readiness checks on loopback. */
import { once } from "node:events";
import { request } from "node:https";
import { connect, createServer } from "node:net";

/** Ports that this process has been given. Most are in use a moment later, and none is given twice. */
const given = new Set<number>();

/** A free port of 127.0.0.1. Another process may take it first, so callers must be able to retry. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("a listening socket has no port");
  if (given.has(address.port)) return findFreePort();
  given.add(address.port);
  return address.port;
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
