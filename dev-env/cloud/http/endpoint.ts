/** The HTTP server of the API. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import { closeServer, listen } from "../../cluster/loopback.ts";
import { ApiError, refuse } from "../api/errors.ts";
import type { Answer, Match, Route, Router } from "../api/route.ts";
import type { CloudOptions } from "../options.ts";
import { settle } from "../resources/effects.ts";
import type { Project } from "../state/project.ts";
import { accessOf, type Tokens } from "./access.ts";
import { readJson } from "./body.ts";
import { type FaultEffect, type Faults, fateOf, shortened, statusOf } from "./faults.ts";
import type { Journal } from "./journal.ts";
import { Races } from "./races.ts";
import { RateLimit, type RateLimitState } from "./rate-limit.ts";
import { DROP, type Dropped, send } from "./reply.ts";

const PREFIX = "/v1";

/** A handler beside the API, e.g. the control endpoint, for all paths with its prefix. */
export interface SideEndpoint {
  readonly prefix: string;
  readonly handle: (request: IncomingMessage, url: URL) => Promise<Answer>;
}

/** The parts and settings of an endpoint. */
export interface EndpointOptions {
  readonly project: Project;
  readonly router: Router;
  readonly journal: Journal;
  readonly faults: Faults;
  readonly tokens: Tokens;
  readonly latencyMs: number;
  readonly rateLimit: NonNullable<CloudOptions["rateLimit"]>;
  readonly sideEndpoints: readonly SideEndpoint[];
  /** Called after every write. */
  readonly onWrite: () => void;
}

/** A request that is being processed. */
interface Exchange {
  readonly request: IncomingMessage;
  readonly method: string;
  readonly url: URL;
  /** The path after `/v1`; undefined if the prefix is missing. */
  readonly path: string | undefined;
  readonly match: Match | undefined;
  readonly caller: string;
  readonly quota: RateLimitState | undefined;
  /** Resolves when the response may be sent. Errors take the same time. */
  readonly latency: Promise<void>;
}

/** The HTTP server: checks in Hetzner's order, then the handler in a transaction. */
export class Endpoint {
  readonly #options: EndpointOptions;
  readonly #server: Server;
  readonly #races: Races;
  readonly #rateLimit: RateLimit | undefined;
  #correlation = 0;

  constructor(options: EndpointOptions) {
    this.#options = options;
    this.#races = new Races(options.project);
    this.#rateLimit =
      options.rateLimit === "off" ? undefined : new RateLimit(options.rateLimit.perHour, options.project.clock);
    this.#server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
      // All other errors become responses, so the connection broke while the response was written.
      this.#serve(request, response).catch(() => response.destroy());
    });
  }

  listen(port: number, host: string): Promise<number> {
    return listen(this.#server, port, host);
  }

  close(): Promise<void> {
    return closeServer(this.#server);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = parseUrl(request);
    const side = this.#options.sideEndpoints.find(({ prefix }) => url.pathname.startsWith(prefix));
    if (side) return send(response, await guarded(() => side.handle(request, url)), {});
    const startedAt = performance.now();
    const exchange = this.#open(request, url);
    const answer = await guarded(() => this.#answer(exchange));
    await exchange.latency;
    this.#record(exchange, answer, performance.now() - startedAt);
    this.#correlation += 1;
    const correlationId = this.#correlation.toString(16).padStart(16, "0");
    send(response, answer, { quota: exchange.quota, correlationId });
  }

  #open(request: IncomingMessage, url: URL): Exchange {
    const isApi = url.pathname.startsWith(`${PREFIX}/`);
    const path = isApi ? url.pathname.slice(PREFIX.length) : undefined;
    return {
      request,
      method: request.method ?? "GET",
      url,
      path,
      match: path === undefined ? undefined : this.#options.router.match(path),
      caller: request.headers["user-agent"] ?? "",
      quota: this.#rateLimit?.take(),
      latency: sleep(this.#options.latencyMs),
    };
  }

  /** Checks the path, then the token, then the method, as the real API does. */
  async #answer(exchange: Exchange): Promise<Answer | Dropped> {
    const { match, method, quota, request } = exchange;
    if (quota && !quota.isAllowed) throw refuse("rate_limit_exceeded", "limit of requests per hour reached");
    if (!match || exchange.path === undefined) throw refuse("not_found", "api route not found");
    const access = accessOf(request.headers.authorization, this.#options.tokens);
    const route = match.methods.get(method);
    if (!route) throw refuse("method_not_allowed", "method not allowed");
    const effects = this.#options.faults.strike(method, exchange.path, exchange.caller);
    const mayWrite = access === "write" && !effects.some((effect) => effect.kind === "read-only");
    if (method !== "GET" && !mayWrite) throw refuse("forbidden", "the token is only allowed to perform GET requests");
    const release = method === "GET" ? () => {} : this.#races.claim(exchange.path);
    try {
      return await this.#perform(exchange, route, effects);
    } finally {
      release();
    }
  }

  async #perform(exchange: Exchange, route: Route, effects: readonly FaultEffect[]): Promise<Answer | Dropped> {
    const body = exchange.method === "GET" ? undefined : await readJson(exchange.request);
    await exchange.latency;
    for (const effect of effects) if (effect.kind === "latency") await sleep(effect.ms);
    const early = injected(effects, false);
    if (early) return early;
    const answer = this.#run(exchange, route, { body, effects });
    return injected(effects, true) ?? answer;
  }

  #run(
    { method, match, url }: Exchange,
    route: Route,
    { body, effects }: { readonly body: unknown; readonly effects: readonly FaultEffect[] },
  ): Answer {
    const { project } = this.#options;
    settle(project);
    const { ids = [], names = [] } = match ?? {};
    const call = { project, url, query: url.searchParams, ids, names, body };
    if (method === "GET") {
      const answer = route.handle(call);
      return { ...answer, body: shortened(answer.body, effects) };
    }
    const fate = fateOf(effects);
    const answer = project.transaction(() => {
      const result = project.actions.withFate(fate, () => route.handle(call));
      // A failed action changes nothing, but a failed creation leaves its resource.
      if (fate.error && route.path.includes("{}")) project.revertKeepingActions();
      return result;
    });
    this.#options.onWrite();
    return answer;
  }

  #record({ method, url, path, match, caller, request }: Exchange, answer: Answer | Dropped, durationMs: number): void {
    const run = request.headers["x-lotse-run"];
    const code = answer === DROP ? undefined : answer.code;
    this.#options.journal.record({
      at: this.#options.project.clock.now(),
      method,
      path: `${path ?? url.pathname}${url.search}`,
      route: match?.path ?? path ?? url.pathname,
      status: answer === DROP ? 0 : answer.status,
      ...(code === undefined ? {} : { code }),
      caller,
      ...(typeof run === "string" ? { run } : {}),
      durationMs,
    });
  }
}

function parseUrl({ url = "/", headers }: IncomingMessage): URL {
  return URL.parse(url, `http://${headers.host}`) ?? new URL("http://127.0.0.1/");
}

async function sleep(ms: number): Promise<void> {
  if (ms > 0) await new Promise((resolve) => setTimeout(resolve, ms));
}

/** Turns API errors into responses, and bugs into a 500 instead of a crash. */
async function guarded(work: () => Promise<Answer | Dropped>): Promise<Answer | Dropped> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ApiError) return { status: error.status, body: error, code: error.code };
    process.emitWarning(error instanceof Error ? error : String(error));
    return { status: 500, body: refuse("server_error", "internal server error"), code: "server_error" };
  }
}

/** The response that a fault substitutes, before or after the change. */
function injected(effects: readonly FaultEffect[], after: boolean): Answer | Dropped | undefined {
  for (const effect of effects) {
    if (effect.kind === "drop" && (effect.after ?? false) === after) return DROP;
    if (effect.kind === "error" && (effect.after ?? false) === after) {
      const { code, message = `injected: ${effect.code}` } = effect;
      return { status: statusOf(effect), body: new ApiError(statusOf(effect), code, message), code };
    }
  }
  return undefined;
}
