/** A TLS server in front of the simulated cloud, and an HTTP proxy to it. */
import { createServer } from "node:http";
import { createServer as createSecureServer } from "node:https";
import { connect, type Socket } from "node:net";
import type { Credential } from "../../dev-env/cluster/certificates.ts";
import { closeServer, listen } from "../../dev-env/cluster/loopback.ts";
import { passOn } from "./recording-proxy.ts";

/** One received request. */
export interface FrontRequest {
  readonly method: string;
  readonly path: string;
  readonly token: string;
  readonly status: number;
}

export interface TlsFront extends AsyncDisposable {
  readonly port: number;
  readonly requests: readonly FrontRequest[];
  /** Makes this token the only valid one. */
  accept(token: string): void;
}

/** Forwards requests with a valid token to the cloud, which itself accepts any token. */
export async function startTlsFront(upstream: string, credential: Credential, token: string): Promise<TlsFront> {
  const { hostname, port } = new URL(upstream);
  const requests: FrontRequest[] = [];
  let accepted = token;
  const server = createSecureServer({ cert: credential.certificate, key: credential.key }, (incoming, response) => {
    const { method = "", url: path = "", headers } = incoming;
    const given = headers.authorization?.replace(/^Bearer /, "") ?? "";
    const note = (status: number) => requests.push({ method, path, token: given, status });
    if (given !== accepted) {
      note(401);
      response.writeHead(401, { "content-type": "application/json" });
      response.end(JSON.stringify({ error: { code: "unauthorized", message: "unable to authenticate" } }));
      return;
    }
    passOn({ hostname, port }, incoming, response, note);
  });
  return {
    port: await listen(server),
    requests,
    accept: (next) => {
      accepted = next;
    },
    [Symbol.asyncDispose]: () => closeServer(server),
  };
}

/** Connects every tunnel to one loopback port, whatever its destination. */
export async function startConnectProxy(target: number) {
  /** Requested destinations, with the credentials. */
  const tunnels: { target: string; credentials: string }[] = [];
  const sockets = new Set<Socket>();
  const server = createServer((_, response) => void response.writeHead(405).end());
  server.on("connect", ({ url = "", headers }, near: Socket) => {
    const basic = headers["proxy-authorization"]?.replace(/^Basic /, "") ?? "";
    tunnels.push({ target: url, credentials: Buffer.from(basic, "base64").toString() });
    const far = connect(target, "127.0.0.1", () => {
      near.write("HTTP/1.1 200 Connection Established\r\n\r\n");
      near.pipe(far).pipe(near);
    });
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket);
      socket.on("error", () => other.destroy()).on("close", () => other.destroy());
    }
  });
  return {
    port: await listen(server),
    tunnels,
    [Symbol.asyncDispose]: () => {
      for (const socket of sockets) socket.destroy();
      return closeServer(server);
    },
  };
}
