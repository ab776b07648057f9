/** HTTP client for the Kubernetes API server: JSON requests, watches, and errors with their status. */
import { addAbortListener } from "node:events";
import http, { type IncomingMessage, type RequestOptions } from "node:http";
import https from "node:https";
import { createInterface } from "node:readline";
import { text } from "node:stream/consumers";
import { defined } from "../../stacks/units/defined.ts";
import { KubeError, messageOf, NotLeader } from "../diagnostics/errors.ts";
import { parseJson } from "../diagnostics/printable.ts";
import { userAgent } from "../diagnostics/version.ts";
import { sendIfAllowed } from "../net/fence.ts";
import type { Clock } from "../work/clock.ts";
import { TIMINGS } from "../work/timings.ts";
import { hedgedProbe } from "./hedged-probe.ts";
import type { KubeAccess } from "./kubeconfig.ts";

type Query = Readonly<Record<string, string | number | boolean | undefined>>;

interface RequestInput {
  readonly query?: Query;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal;
  /** Opens a fresh connection instead of reusing a pooled one. */
  readonly isFresh?: boolean;
}

/** One event of a watch, as the API server sends it. */
export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

/** One completed request, for metrics. */
export interface KubeExchange {
  readonly method: string;
  readonly host: string;
  /** 0 when there was no response. */
  readonly status: number;
  readonly durationMs: number;
}

/** Optional settings of a client. */
export interface ClientOptions {
  /** Time limit for a response. */
  readonly timeoutMs?: number;
  /** Checked right before a write is sent. */
  readonly mayWrite?: () => boolean;
  readonly onExchange?: (exchange: KubeExchange) => void;
  readonly clock?: Clock;
}

/** A client for one API server. Keeps connections open until `close`. */
export class KubeClient implements Disposable {
  readonly #access: KubeAccess;
  readonly #agent: http.Agent;
  readonly #options: ClientOptions;
  readonly #timeoutMs: number;
  readonly #closed = new AbortController();
  #reaching: Promise<void> | undefined;

  constructor(access: KubeAccess, options: ClientOptions = {}) {
    this.#access = access;
    this.#options = options;
    this.#timeoutMs = options.timeoutMs ?? TIMINGS.kubeRequest;
    const settings = { keepAlive: true, keepAliveMsecs: 15_000 };
    this.#agent = access.server.protocol === "https:" ? new https.Agent(settings) : new http.Agent(settings);
  }

  get<T>(path: string, query?: Query, signal?: AbortSignal): Promise<T> {
    return this.#call("GET", path, defined({ query, signal }));
  }

  create<T>(path: string, body: unknown): Promise<T> {
    return this.#call("POST", path, { body });
  }

  replace<T>(path: string, body: unknown): Promise<T> {
    return this.#call("PUT", path, { body });
  }

  patch<T>(path: string, type: "merge" | "strategic-merge", body: unknown): Promise<T> {
    return this.#call("PATCH", path, { body, contentType: `application/${type}-patch+json` });
  }

  delete<T>(path: string, body?: unknown): Promise<T> {
    return this.#call("DELETE", path, body === undefined ? {} : { body });
  }

  /**
   * Follows a watch until the server ends it or the signal fires. Fails after `longestMs`: the server was asked to end the
   * watch before that, so the connection must be half-open.
   */
  async watch<T>(path: string, query: Query, options: WatchOptions<T>): Promise<void> {
    const response = await this.#openWatch(path, { ...query, watch: true, allowWatchBookmarks: true }, options.signal);
    options.onOpen?.();
    const late = setTimeout(() => response.destroy(new Error("watch still open after its timeout")), options.longestMs);
    try {
      for await (const line of createInterface({ input: response })) {
        if (line !== "") options.onEvent(JSON.parse(line) as WatchEvent<T>);
      }
    } finally {
      clearTimeout(late);
      response.destroy();
    }
  }

  /**
   * Resolves within half a second after the API server responds again, with whatever status. Concurrent callers share the
   * probes. Rejects when there is no response within the client's timeout; resolves when the signal fires.
   */
  async reach(signal: AbortSignal): Promise<void> {
    this.#dropIdle();
    this.#reaching ??= this.#probe().finally(() => {
      this.#reaching = undefined;
    });
    const stopped = Promise.withResolvers<void>();
    using _ = addAbortListener(signal, () => stopped.resolve());
    await Promise.race([this.#reaching, stopped.promise]);
  }

  #probe(): Promise<void> {
    const ask = async (signal: AbortSignal) => {
      const answer = await this.#open("GET", "/version", { signal, isFresh: true });
      answer.destroy();
    };
    const until = AbortSignal.any([AbortSignal.timeout(this.#timeoutMs), this.#closed.signal]);
    return hedgedProbe(ask, until, this.#options.clock);
  }

  /** Where one connection has died unnoticed, idle ones have probably died too. */
  #dropIdle(): void {
    for (const sockets of Object.values(this.#agent.freeSockets)) for (const socket of sockets ?? []) socket.destroy();
  }

  /** Limits the time to open a watch: a server may accept a connection and never respond, or never finish a refusal. */
  async #openWatch(path: string, query: Query, stop: AbortSignal): Promise<IncomingMessage> {
    const late = new AbortController();
    const timer = setTimeout(
      () => late.abort(new DOMException("watch not opened in time", "TimeoutError")),
      this.#timeoutMs,
    );
    try {
      const response = await this.#open("GET", path, { query, signal: AbortSignal.any([stop, late.signal]) });
      if (response.statusCode !== 200) throw await failure(`GET ${path}`, response);
      return response;
    } finally {
      clearTimeout(timer);
    }
  }

  /** Closes all connections. */
  close(): void {
    this.#closed.abort();
    this.#agent.destroy();
  }

  [Symbol.dispose](): void {
    this.close();
  }

  async #call<T>(method: string, path: string, input: RequestInput): Promise<T> {
    const late = AbortSignal.timeout(this.#timeoutMs);
    const signal = input.signal ? AbortSignal.any([late, input.signal]) : late;
    const response = await this.#open(method, path, { ...input, signal });
    if ((response.statusCode ?? 0) >= 300) throw await failure(`${method} ${path}`, response);
    try {
      return JSON.parse(await text(response)) as T;
    } catch (error) {
      throw new KubeError(`${method} ${path}`, 0, messageOf(error), error);
    }
  }

  async #open(method: string, path: string, input: RequestInput): Promise<IncomingMessage> {
    const { headers, ...tls } = await this.#access.credentials();
    const url = new URL(this.#access.server.pathname.replace(/\/$/, "") + path, this.#access.server);
    for (const [key, value] of Object.entries(input.query ?? {})) {
      if (value !== undefined) url.searchParams.set(key, String(value));
    }
    const body = input.body === undefined ? undefined : JSON.stringify(input.body);
    const options: RequestOptions = {
      ...tls,
      method,
      agent: input.isFresh ? false : this.#agent,
      ...(input.signal && { signal: input.signal }),
      headers: {
        ...headers,
        accept: "application/json",
        "user-agent": userAgent(),
        // Node sets no length for the body of a DELETE: the server would ignore it, including its preconditions.
        ...(body !== undefined && {
          "content-type": input.contentType ?? "application/json",
          "content-length": Buffer.byteLength(body),
        }),
      },
    };
    const { mayWrite, onExchange } = this.#options;
    const started = performance.now();
    const note = (status: number) =>
      onExchange?.({ method, host: url.host, status, durationMs: performance.now() - started });
    const send = url.protocol === "https:" ? https.request : http.request;
    return new Promise((resolve, reject) => {
      const request = send(url, options, (response) => {
        note(response.statusCode ?? 0);
        resolve(response);
      });
      request.on("error", (error) => {
        note(0);
        if (isTimeout(error)) this.#dropIdle();
        reject(error instanceof NotLeader ? error : new KubeError(`${method} ${path}`, 0, reason(error, url), error));
      });
      sendIfAllowed(request, body, mayWrite);
    });
  }
}

interface WatchOptions<T> {
  readonly onEvent: (event: WatchEvent<T>) => void;
  readonly onOpen?: () => void;
  readonly signal: AbortSignal;
  readonly longestMs: number;
}

/** An aborted request carries the timeout only as its cause. */
function isTimeout({ cause }: Error): boolean {
  return cause instanceof Error && cause.name === "TimeoutError";
}

function reason(error: Error & { code?: string }, url: URL): string {
  if (isTimeout(error)) return `no response from ${url.host} in time`;
  return error.code === "ECONNREFUSED" ? `connection refused by ${url.host}` : error.message || String(error.code);
}

async function failure(request: string, response: IncomingMessage): Promise<KubeError> {
  // The status says enough when the body stalls or breaks off.
  const body = await text(response).catch(() => "");
  // A body that is not a Status object comes from a proxy, or is empty: report the text itself.
  const message = parseJson<{ message?: string }>(body)?.message ?? body;
  return new KubeError(request, response.statusCode ?? 0, message.trim() || `status ${response.statusCode}`);
}
