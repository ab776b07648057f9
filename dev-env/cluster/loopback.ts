import { once } from "node:events";
import { request } from "node:https";
import { connect, createServer } from "node:net";

/** A port of 127.0.0.1 that nobody listens on at this moment. Somebody may be faster: be ready to try another. */
export async function findFreePort(): Promise<number> {
  const server = createServer();
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("a listening socket has no port");
  return address.port;
}

/** True when somebody accepts connections on that Unix socket. */
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

/** Certificates of a client, all PEM. */
export interface ClientTls {
  readonly ca: string;
  readonly cert: string;
  readonly key: string;
}

/** True when a GET is answered with 200 within the time limit. */
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
