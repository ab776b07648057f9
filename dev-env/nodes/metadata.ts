/** The metadata service at 169.254.169.254, which identifies servers by their public address. */
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { Cloud } from "../cloud/cloud.ts";
import { closeServer, listen } from "../cluster/loopback.ts";
import { METADATA } from "./network/addresses.ts";

/** Starts the service. Requests from addresses that belong to no server are rejected. */
export async function startMetadata(cloud: Cloud): Promise<AsyncDisposable> {
  const server = createServer((incoming, response) => answer(cloud, incoming, response));
  await listen(server, 80, METADATA);
  return { [Symbol.asyncDispose]: () => closeServer(server) };
}

function answer(cloud: Cloud, incoming: IncomingMessage, response: ServerResponse): void {
  const address = incoming.socket.remoteAddress;
  const server = cloud.state.servers.values().find(({ public_net }) => public_net.ipv4?.ip === address);
  if (!server) {
    response.writeHead(404, { "Content-Type": "text/plain" }).end(`no server has the address ${address}\n`);
    return;
  }
  const url = new URL(`/_metadata/${server.id}${incoming.url}`, cloud.url);
  const forwarded = request(url, (answered) => {
    response.writeHead(answered.statusCode ?? 502, answered.headers);
    answered.pipe(response);
  });
  forwarded.on("error", () => response.destroy());
  forwarded.end();
}
