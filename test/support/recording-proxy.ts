/** A proxy in front of the cloud that records the requests of one controller. */
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { closeServer, listen } from "../../dev-env/cluster/loopback.ts";

/** One request to the cloud, with its controller. */
export interface Recorded {
  readonly who: string;
  readonly method: string;
  readonly path: string;
  readonly at: number;
}

/** Starts a proxy. All proxies of a test share a list, which shows the order of requests. `url` is that of the API. */
export async function startRecordingProxy(upstream: string, who: string, records: Recorded[]) {
  const { hostname, port, pathname } = new URL(upstream);
  const server = createServer((incoming, response) => {
    const { method = "", url: path = "" } = incoming;
    records.push({ who, method, path, at: performance.now() });
    passOn({ hostname, port }, incoming, response);
  });
  return {
    url: `http://127.0.0.1:${await listen(server)}${pathname}`,
    [Symbol.asyncDispose]: () => closeServer(server),
  };
}

/** Forwards a request and its response. */
export function passOn(
  to: { readonly hostname: string; readonly port: string },
  incoming: IncomingMessage,
  response: ServerResponse,
  onStatus: (status: number) => void = () => {},
): void {
  const { method, url: path, headers } = incoming;
  const outgoing = forward({ ...to, method, path, headers }, (answer) => {
    onStatus(answer.statusCode ?? 0);
    response.writeHead(answer.statusCode ?? 0, answer.headers);
    answer.pipe(response);
  });
  outgoing.on("error", () => response.destroy());
  incoming.on("error", () => outgoing.destroy()).pipe(outgoing);
}
