/**
 * The way of all changes to the project: a proxy on loopback that labels whatever is created, in the same request, and
 * remembers every exchange. It holds the token. When this process dies, the controller no longer reaches the API.
 */
import { randomBytes } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { type ApiRequest, errorResponse, isRead } from "../../controller/hcloud/exchange.ts";
import { Upstream } from "../../controller/hcloud/sender.ts";
import { closeServer, listen } from "../../dev-env/cluster/loopback.ts";
import { type Access, userAgentOf } from "../../dev-env/project/api.ts";
import { LABEL } from "./project.ts";

/** A request with its response. Times are milliseconds since the start of the proxy. */
export interface Exchange extends ApiRequest {
  readonly status: number;
  readonly answer: string;
  readonly startedMs: number;
  readonly endedMs: number;
}

export interface LabellingProxy {
  /** Where clients reach the API, and a credential that is valid only here. */
  readonly access: Access;
  /** All exchanges so far, in the order of their end. */
  readonly exchanges: readonly Exchange[];
  /** Refuses further requests, and resolves when those under way have ended. */
  close(): Promise<void>;
}

const TIMEOUT_MS = 60_000;

/** Starts a proxy in front of the API. Everything created through it carries the label with the name of the run. */
export async function startProxy(upstream: Access, run: string): Promise<LabellingProxy> {
  const { endpoint, token } = upstream;
  const way = new Upstream({
    endpoint,
    token: () => token,
    userAgent: userAgentOf("test-account"),
    timeoutMs: TIMEOUT_MS,
  });
  const credential = randomBytes(32).toString("hex");
  const exchanges: Exchange[] = [];
  const underWay = new Set<Promise<void>>();
  let isClosed = false;
  const pass = async (incoming: IncomingMessage, response: ServerResponse) => {
    const startedMs = performance.now();
    const request = labelled(await requestOf(incoming), run);
    const isKnown = incoming.headers.authorization === `Bearer ${credential}`;
    const refusal = isClosed ? errorResponse(503, "unavailable", "the suite is ending") : undefined;
    const answer =
      refusal ??
      (isKnown
        ? await way.send(request, String(incoming.headers["x-lotse-run"] ?? run))
        : errorResponse(401, "unauthorized", "not a credential of this proxy"));
    if (!refusal && isKnown) {
      const { status, body } = answer;
      exchanges.push({ ...request, status, answer: body, startedMs, endedMs: performance.now() });
    }
    response.writeHead(answer.status, answer.headers).end(answer.body);
  };
  const server = createServer((incoming, response) => {
    // Without a response, the connection is closed, as the API or a network would do.
    const passing = pass(incoming, response).catch(() => void response.destroy());
    underWay.add(passing);
    void passing.finally(() => underWay.delete(passing));
  });
  return {
    access: { endpoint: `http://127.0.0.1:${await listen(server)}/v1`, token: credential },
    exchanges,
    close: async () => {
      isClosed = true;
      await Promise.all(underWay);
      await closeServer(server);
      way.close();
    },
  };
}

async function requestOf(incoming: IncomingMessage): Promise<ApiRequest> {
  const { method = "", url = "" } = incoming;
  const body = await text(incoming);
  return { method, path: url.replace(/^\/v1/, ""), ...(body !== "" && { body }) };
}

/** Adds the label to requests that create something, or replace its labels. */
function labelled(request: ApiRequest, run: string): ApiRequest {
  const creates = request.method === "POST" && /^\/[a-z_]+$/.test(request.path);
  const changes = request.method === "PUT" && /^\/[a-z_]+\/\d+$/.test(request.path);
  if (isRead(request) || request.body === undefined || !(creates || changes)) return request;
  const body = JSON.parse(request.body) as { readonly labels?: Readonly<Record<string, string>> };
  if (!creates && body.labels === undefined) return request;
  return { ...request, body: JSON.stringify({ ...body, labels: { ...body.labels, [LABEL]: run } }) };
}
