/** Stands between one controller and the cloud, and writes down what that controller asks for, as it arrives. */
import { once } from "node:events";
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

/** One request that reached the cloud, and whose it was. */
export interface Recorded {
  readonly who: string;
  readonly method: string;
  readonly path: string;
  readonly at: number;
}

export interface RecordingProxy extends AsyncDisposable {
  /** The API as this controller is to see it. */
  readonly url: string;
}

/** All proxies of a test write into one list, so that its order is the order in the cloud. */
export async function startRecordingProxy(upstream: string, who: string, records: Recorded[]): Promise<RecordingProxy> {
  const { hostname, port, pathname } = new URL(upstream);
  const server = createServer((incoming, response) => {
    const { method = "", url: path = "" } = incoming;
    records.push({ who, method, path, at: performance.now() });
    passOn({ hostname, port }, incoming, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}${pathname}`,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** Passes a request on to where it is meant for, and the answer back. */
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
