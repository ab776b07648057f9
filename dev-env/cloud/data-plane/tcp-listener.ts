/** Listeners for TCP. */
import { connect, createServer, type Socket } from "node:net";
import { closeServer, listen } from "../../cluster/loopback.ts";
import { type Backend, socketTo } from "./plan.ts";
import type { Pool } from "./pool.ts";
import { connectionOf, proxyHeader } from "./proxy-protocol.ts";

/** Opens a listener that forwards TCP connections. Call the result to close it. */
export async function openTcpListener(pool: Pool): Promise<() => Promise<void>> {
  const clients = new Set<Socket>();
  const server = createServer({ pauseOnConnect: true, allowHalfOpen: true }, (client) => {
    clients.add(client);
    client.once("close", () => clients.delete(client));
    forward(pool, client, new Set());
  });
  await listen(server, pool.plan.port, pool.plan.host);
  return () => {
    for (const client of clients) client.destroy();
    return closeServer(server);
  };
}

/** Connects to the next backend; if it refuses the connection, tries the others. */
function forward(pool: Pool, client: Socket, tried: ReadonlySet<Backend["target"]>): void {
  const backend = pool.pick(tried);
  if (!backend?.host) {
    client.destroy();
    return;
  }
  const leave = pool.occupy(backend);
  const upstream = connect({ ...socketTo(backend), allowHalfOpen: true });
  const abandon = () => {
    leave();
    upstream.destroy();
    if (client.destroyed) return;
    forward(pool, client, new Set([...tried, backend.target]));
  };
  client.once("error", () => upstream.destroy());
  upstream.once("error", abandon);
  upstream.once("connect", () => {
    upstream.off("error", abandon);
    if (pool.plan.service.proxyprotocol) upstream.write(proxyHeader(connectionOf(client)));
    joinSockets(client, upstream, leave);
  });
}

/** Copies bytes in both directions. When one side closes, closes the other. */
export function joinSockets(client: Socket, upstream: Socket, onEnd: () => void): void {
  const end = () => {
    onEnd();
    client.destroy();
    upstream.destroy();
  };
  for (const socket of [client, upstream]) {
    socket.on("error", end);
    socket.once("close", (hadError) => hadError && end());
  }
  upstream.once("close", onEnd);
  if (client.destroyed) end();
  client.pipe(upstream);
  upstream.pipe(client);
}
