/** Requests to the Hetzner API: within the rate limit, with retries where that is safe, over connections that stay open. */

import type { IncomingMessage } from "node:http";
import { text } from "node:stream/consumers";
import { defined } from "../../stacks/units/defined.ts";
import type { LoadBalancerSpec } from "../../stacks/units/spec.ts";
import { CloudError } from "../diagnostics/errors.ts";
import { sendIfAllowed } from "../net/fence.ts";
import { openWayOut, type WayOut } from "../net/outbound.ts";
import { type Clock, SYSTEM_CLOCK } from "../work/clock.ts";
import { Budget, type Priority } from "./budget.ts";
import { type ApiError, type ApiRequest, type ApiResponse, apiErrorOf, endpointOf, isRead } from "./exchange.ts";

/** One request that reached the API. */
export interface Exchange {
  /** The run that sent it, or `reader` for the controller's own reads. */
  readonly run: string;
  /** The unit that the request was for, if known. */
  readonly unit?: string;
  readonly method: string;
  readonly path: string;
  /** The path without ids. */
  readonly endpoint: string;
  /** 0 when there was no response. */
  readonly status: number;
  readonly durationMs: number;
  /** Set for refused requests. */
  readonly error?: ApiError;
}

/** A run as the gateway knows it. */
export interface RunInfo {
  readonly run: string;
  /** A preview may only read. */
  readonly mode: "apply" | "preview";
  /** The unit that a request is for, from the request and, if there is one, the response. */
  readonly attribute?: (request: ApiRequest, answer?: string) => string | undefined;
  /** Whether a write is part of the run; all are when absent. */
  readonly permits?: (request: ApiRequest) => boolean;
  /** Called with every request that reached the API. */
  readonly onExchange?: (exchange: Exchange) => void;
  /** Adds secrets that the plugin must not know. Only the API sees the result. */
  readonly complete?: (request: ApiRequest) => ApiRequest;
  /** Reads the list of a collection, unless it was read within this time; undefined when reading single resources is cheaper. */
  readonly list?: (collection: string, maxAgeMs: number) => Promise<unknown> | undefined;
  /** The final spec of a load balancer that this run creates, by name. */
  readonly newBalancer?: (name: string) => LoadBalancerSpec | undefined;
  /** Fires when others wait for the run to end. From then on it does not wait for slow actions. */
  readonly hurry?: AbortSignal;
  /**
   * Called with a unit whose action is slow, when the run stops waiting for it. `ended` resolves when the action has ended or
   * is no longer followed, with an error unless it has succeeded.
   */
  readonly onSlow?: (unit: string, ended: Promise<ApiError | undefined>) => void;
}

const READ_TRIES = 4;
/**
 * How long to repeat a read that the rate limit refuses, and the longest that it waits for its slot. A turn that takes much
 * longer fails the liveness probe.
 */
const REFUSED_MS = 150_000;

/** Sends requests one by one, with retries and a rate budget shared by all of them. */
export class Sender {
  readonly #upstream: Upstream;
  readonly #report: (exchange: Exchange) => void;
  readonly #clock: Clock;
  readonly #budget: Budget;
  readonly #stop = new AbortController();

  constructor(upstream: Upstream, report: (exchange: Exchange) => void, clock = SYSTEM_CLOCK) {
    this.#upstream = upstream;
    this.#report = report;
    this.#clock = clock;
    this.#budget = new Budget(clock.now);
  }

  get budget(): Pick<Budget, "remaining" | "limit"> {
    return this.#budget;
  }

  /**
   * Sends a request once the budget allows it, unless the signal fires first. Repeats it after a 429; a read only for a few
   * minutes, because a turn is waiting for it. Repeats reads a few times after other failures.
   */
  async send(info: RunInfo, request: ApiRequest, priority: Priority, signal?: AbortSignal): Promise<ApiResponse> {
    const tries = isRead(request) ? READ_TRIES : 1;
    const patientUntil = isRead(request) ? this.#clock.now() + REFUSED_MS : Number.POSITIVE_INFINITY;
    for (let attempt = 1; ; attempt++) {
      const response = await this.#sendOnce(info, request, priority, signal).catch((error: unknown) => {
        if (attempt >= tries || this.#stop.signal.aborted) throw error;
        return undefined;
      });
      if (response?.status === 429 && this.#clock.now() < patientUntil) continue; // the budget makes it wait
      if (response && (attempt >= tries || !isTemporary(response.status))) return response;
      await this.#clock.pause(100 * 2 ** attempt, this.#stop.signal);
    }
  }

  /** Fails all requests that are still waiting: their responses are no longer needed. */
  giveUp(): void {
    this.#stop.abort();
  }

  async #sendOnce(info: RunInfo, request: ApiRequest, priority: Priority, ended = this.#stop.signal) {
    await this.#awaitSlot(priority, isRead(request) ? REFUSED_MS : Number.POSITIVE_INFINITY, ended);
    const started = this.#clock.now();
    const note = (response: ApiResponse) => {
      this.#budget.learn(response.status, response.headers);
      const exchange = this.#describe(info, request, response, started);
      info.onExchange?.(exchange);
      this.#report(exchange);
    };
    try {
      const response = await this.#upstream.send(info.complete?.(request) ?? request, info.run);
      note(response);
      return response;
    } catch (error) {
      note({ status: 0, headers: {}, body: "" });
      throw error;
    }
  }

  /** Waits until the budget allows a request, but `longestMs` at most, and counts it. Throws if its run ends before that. */
  async #awaitSlot(priority: Priority, longestMs: number, ended: AbortSignal): Promise<void> {
    const isOver = () => ended.aborted || this.#stop.signal.aborted;
    const waitMs = isOver() ? 0 : this.#budget.spend(priority);
    if (waitMs > 0) {
      await this.#clock.pause(Math.min(waitMs, longestMs), AbortSignal.any([ended, this.#stop.signal]));
      this.#budget.endWait(priority, !isOver());
    }
    if (isOver()) throw new Error("the run ended while this request was queued");
  }

  #describe(info: RunInfo, request: ApiRequest, response: ApiResponse, started: number): Exchange {
    const { method, path } = request;
    const { status } = response;
    const unit = info.attribute?.(request, response.body);
    return {
      run: info.run,
      ...defined({ unit }),
      method,
      path,
      endpoint: endpointOf(path),
      status,
      durationMs: Math.round(this.#clock.now() - started),
      ...(status >= 400 && { error: apiErrorOf(response) }),
    };
  }

  close(): void {
    this.giveUp();
    this.#upstream.close();
  }
}

/** Statuses of an API or a resource that is temporarily unavailable. */
function isTemporary(status: number): boolean {
  return status >= 500 || status === 409 || status === 423;
}

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
    try {
      const answer = await new Promise<ApiResponse>((resolve, reject) => {
        const { agent } = this.#wayOut;
        const request = this.#wayOut.request(this.#base + path, { method, headers, agent, signal }, (response) => {
          collect(response).then(resolve, reject);
        });
        request.on("error", reject);
        sendIfAllowed(request, body, mayWrite);
      });
      trace?.({ method, path, ...defined({ body }) }, answer);
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
