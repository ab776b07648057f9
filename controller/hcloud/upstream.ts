/** The Hetzner API itself: adds the token, keeps connections open, gives up on silence. */
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { CloudError, NotLeader } from "../diagnostics/errors.ts";
import { sendIfAllowed } from "../net/fence.ts";
import { openWayOut, type WayOut } from "../net/outbound.ts";
import { type ApiRequest, type ApiResponse, isRead } from "./exchange.ts";

export interface UpstreamOptions {
  /** Base address including `/v1`. */
  readonly endpoint: string;
  /** Asked for with every request, so that a rotated token is used at once. */
  readonly token: () => string;
  readonly userAgent: string;
  readonly timeoutMs: number;
  /** Asked at the last moment before a write is sent. */
  readonly mayWrite?: () => boolean;
  /** Told of every request and its answer. */
  readonly trace?: (request: ApiRequest, response: ApiResponse) => void;
  /** Told when a request goes out (1), and when it is answered or given up on (-1). */
  readonly inFlight?: (change: 1 | -1) => void;
}

const MAX_SOCKETS = 32;

/** Sends requests as they are; knows nothing of retries, order or budget. */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #wayOut: WayOut;
  readonly #base: string;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#base = options.endpoint.replace(/\/+$/, "");
    this.#wayOut = openWayOut(this.#base, process.env, MAX_SOCKETS);
  }

  /** The answer, whatever its status; `run` says in a header what the request belongs to. Throws a CloudError `unreachable` when there is none. */
  async send({ method, path, body }: ApiRequest, run: string): Promise<ApiResponse> {
    const headers = {
      authorization: `Bearer ${this.#options.token()}`,
      "user-agent": this.#options.userAgent,
      accept: "application/json",
      "x-lotse-run": run,
      ...(body !== undefined && { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
    };
    const signal = AbortSignal.timeout(this.#options.timeoutMs);
    const { mayWrite, trace, inFlight } = this.#options;
    inFlight?.(1);
    const refusal = () => (isRead({ method, path }) || !mayWrite || mayWrite() ? undefined : new NotLeader());
    try {
      const answer = await new Promise<ApiResponse>((resolve, reject) => {
        const { agent } = this.#wayOut;
        const request = this.#wayOut.request(this.#base + path, { method, headers, agent, signal }, (response) => {
          collect(response).then(resolve, reject);
        });
        request.on("error", reject);
        sendIfAllowed(request, body, refusal);
      });
      trace?.({ method, path, ...(body !== undefined && { body }) }, answer);
      return answer;
    } catch (error) {
      throw new CloudError(`${method} ${path}`, 0, "unreachable", error);
    } finally {
      inFlight?.(-1);
    }
  }

  close(): void {
    this.#wayOut.agent.destroy();
  }
}

async function collect(response: IncomingMessage): Promise<ApiResponse> {
  const body = await text(response);
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(response.headers)) {
    if (typeof value === "string" && PASSED_ON.test(name)) headers[name] = value;
  }
  return { status: response.statusCode ?? 0, headers, body };
}

/** Headers that mean something to clients; the rest belongs to one connection. */
const PASSED_ON = /^(content-type|link|x-correlation-id|ratelimit-.*|retry-after)$/;
