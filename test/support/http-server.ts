/** An HTTP server for unit tests. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { closeServer, listen } from "../../dev-env/cluster/loopback.ts";

export interface Received {
  readonly method: string;
  /** Path with query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
}

export interface TestServer {
  readonly url: string;
  /** All requests in order of arrival. */
  readonly received: readonly Received[];
  stop(): Promise<void>;
}

/** A server on loopback with a handler from the test. Stopping it closes all connections. */
export async function startServer(
  answer: (request: Received, response: ServerResponse) => void | Promise<void>,
): Promise<TestServer> {
  const received: Received[] = [];
  const handle = async (incoming: IncomingMessage, response: ServerResponse) => {
    incoming.setEncoding("utf8");
    let body = "";
    for await (const chunk of incoming) body += chunk;
    const request = { method: incoming.method ?? "", path: incoming.url ?? "", headers: incoming.headers, body };
    received.push(request);
    await answer(request, response);
  };
  const server = createServer((incoming, response) => void handle(incoming, response).catch(() => response.destroy()));
  return { url: `http://127.0.0.1:${await listen(server)}`, received, stop: () => closeServer(server) };
}

/** Sends JSON. */
export function reply(
  response: ServerResponse,
  body: unknown,
  status = 200,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { "content-type": "application/json", ...headers }).end(JSON.stringify(body));
}
