/** Connections to the Hetzner API: adds the token, keeps connections open, times out. */
import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { CloudError, NotLeader } from "../diagnostics/errors.ts";
import { sendIfAllowed } from "../net/fence.ts";
import { openWayOut, type WayOut } from "../net/outbound.ts";
import { type ApiRequest, type ApiResponse, isRead } from "./exchange.ts";

/** Settings and callbacks of the connections. */
export interface UpstreamOptions {
  /** Base URL including `/v1`. */
  readonly endpoint: string;
  /** Called for every request, so that a rotated token is used at once. */
  readonly token: () => string;
  readonly userAgent: string;
  readonly timeoutMs: number;
  /** Checked right before a write is sent. */
  readonly mayWrite?: () => boolean;
  /** Called with every request and its response. */
  readonly trace?: (request: ApiRequest, response: ApiResponse) => void;
  /** Called with 1 when a request is sent, and with -1 when it has been answered or has failed. */
  readonly inFlight?: (change: 1 | -1) => void;
}

const MAX_SOCKETS = 32;

/** Sends requests unchanged, without retries, ordering or rate budget. */
export class Upstream {
  readonly #options: UpstreamOptions;
  readonly #wayOut: WayOut;
  readonly #base: string;

  constructor(options: UpstreamOptions) {
    this.#options = options;
    this.#base = options.endpoint.replace(/\/+$/, "");
    this.#wayOut = openWayOut(this.#base, process.env, MAX_SOCKETS);
  }

  /** The response, whatever its status. `run` is sent as a header. Throws a CloudError `unreachable` when there is no response. */
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

/** Headers that clients use; the others concern a single connection. */
const PASSED_ON = /^(content-type|link|x-correlation-id|ratelimit-.*|retry-after)$/;
