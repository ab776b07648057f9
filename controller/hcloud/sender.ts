/** Sends requests to the API: within the rate limit, with retries where that is safe, and reports each one. */
import type { LoadBalancerSpec } from "../../stacks/units/spec.ts";
import { type Clock, SYSTEM_CLOCK } from "../work/clock.ts";
import { Budget, type Priority } from "./budget.ts";
import { type ApiRequest, type ApiResponse, endpointOf, isRead } from "./exchange.ts";
import type { Upstream } from "./upstream.ts";

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
}

/** A run as the gateway knows it. */
export interface RunInfo {
  readonly run: string;
  /** A preview may only read. */
  readonly mode: "apply" | "preview";
  /** The unit that a request is for, from the request and, if there is one, the response. Writes without a unit are refused. */
  readonly attribute?: (request: ApiRequest, answer?: string) => string | undefined;
  /** Adds secrets that the plugin must not know. Only the API sees the result. */
  readonly complete?: (request: ApiRequest) => ApiRequest;
  /** The final spec of a load balancer that this run creates, by name. */
  readonly newBalancer?: (name: string) => LoadBalancerSpec | undefined;
}

const READ_TRIES = 4;

/** Sends requests one by one, with retries and a rate budget shared by all of them. */
export class Sender {
  readonly #upstream: Upstream;
  readonly #report: (exchange: Exchange) => void;
  readonly #clock: Clock;
  readonly #budget: Budget;

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
   * Sends a request once the budget allows it, unless `mayGo` is false by then. Waits and retries after a 429; retries only
   * reads after other failures.
   */
  async send(info: RunInfo, request: ApiRequest, priority: Priority, mayGo = () => true): Promise<ApiResponse> {
    for (let attempt = 1; ; attempt++) {
      const response = await this.#sendOnce(info, request, priority, mayGo).catch((error: unknown) => {
        if (!isRead(request) || attempt >= READ_TRIES) throw error;
        return undefined;
      });
      const isTransient = !response || (isRead(request) && isTemporary(response.status) && attempt < READ_TRIES);
      if (response && response.status !== 429 && !isTransient) return response;
      if (isTransient) await this.#clock.pause(100 * 2 ** attempt);
    }
  }

  async #sendOnce(info: RunInfo, request: ApiRequest, priority: Priority, mayGo: () => boolean): Promise<ApiResponse> {
    const waitMs = this.#budget.spend(priority);
    if (waitMs > 0) await this.#clock.pause(waitMs);
    if (!mayGo()) throw new Error("the run ended while this request was queued");
    const started = this.#clock.now();
    const note = ({ status, headers, body }: ApiResponse) => {
      this.#budget.learn(status, headers);
      const { method, path } = request;
      const unit = info.attribute?.(request, body);
      const durationMs = Math.round(this.#clock.now() - started);
      const endpoint = endpointOf(path);
      this.#report({ run: info.run, ...(unit !== undefined && { unit }), method, path, endpoint, status, durationMs });
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

  close(): void {
    this.#upstream.close();
  }
}

/** Statuses of an API or a resource that is temporarily unavailable. */
function isTemporary(status: number): boolean {
  return status >= 500 || status === 409 || status === 423;
}
