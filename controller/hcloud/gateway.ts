/**
 * The only way to the Hetzner API, for the controller's own reads and for the plugin's calls. It holds the token; the plugin
 * gets a credential that is valid for one run on this machine. The gateway orders writes per resource, deduplicates reads,
 * waits for actions in batches, keeps within the rate limit and reports every request.
 */
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import { messageOf } from "../diagnostics/errors.ts";
import { type Clock, SYSTEM_CLOCK } from "../work/clock.ts";
import { type Action, ActionWatch, runningActionIn, withEndedAction, withFailedAction } from "./action-watch.ts";
import type { LoadBalancer } from "./api.ts";
import type { Priority } from "./budget.ts";
import { createWhole, isRefused, remainder } from "./creation.ts";
import {
  type ApiRequest,
  type ApiResponse,
  cloudErrorOf,
  collectionOf,
  errorResponse,
  isNormalised,
  isRead,
  resourceOf,
  withoutRepetition,
} from "./exchange.ts";
import { Lanes, WriteTimes } from "./lanes.ts";
import { ReadCache, singleIn } from "./read-cache.ts";
import { type Exchange, type RunInfo, Sender, type Upstream } from "./sender.ts";
import { type Credential, isBearer, newSession, type RunAccess, type Session } from "./session.ts";

/** Collections that runs write to. */
export type Written = "load_balancers" | "certificates" | "networks";

/** The controller's own reads. */
const READER: RunInfo = { run: "reader", mode: "preview" };

/** Maximum age of a cached read for the plugin, about the length of a run. Writes invalidate it at once. */
const READ_MAX_AGE_MS = 10_000;
/** The plugin repeats the read of a detached load balancer every two seconds: then the cache must not answer. */
const REPEATED_MS = 1_500;
/** Maximum age of the controller's own lists for the plugin. It only checks that a server exists, so an older list will do. */
const LISTED_MAX_AGE_MS: Readonly<Record<string, number>> = { servers: 60_000 };
/** How long the response to a write is held until its action ends. After that the run goes on without it. */
const ACTION_HOLD_MS = 20_000;
/** How long an action is followed that has outlasted its run. */
const SLOW_LIMIT_MS = 15 * 60_000;

/** A local HTTP proxy for runs, and the reader of the Hetzner API for the controller. */
export class Gateway {
  readonly #clock: Clock;
  readonly #sender: Sender;
  readonly #server: Server;
  readonly #sessions = new Map<string, Session>();
  readonly #lanes = new Lanes();
  readonly #writes: WriteTimes;
  readonly #cache: ReadCache;
  readonly #actions: ActionWatch;

  constructor(upstream: Upstream, report: (exchange: Exchange) => void, clock = SYSTEM_CLOCK) {
    this.#sender = new Sender(upstream, report, clock);
    this.#clock = clock;
    this.#writes = new WriteTimes(clock.now);
    this.#cache = new ReadCache(clock.now);
    this.#actions = new ActionWatch((ids) => this.#fetchActions(ids), clock);
    this.#server = createServer((request, response) => void this.#serve(request, response));
  }

  /** Requests left according to the latest responses, and the limit per hour. */
  get budget(): Sender["budget"] {
    return this.#sender.budget;
  }

  /** Opens the loopback port for runs. */
  async start(): Promise<void> {
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
  }

  /** Fails all requests that are waiting for the rate budget, so that a stop need not wait for them. */
  giveUp(): void {
    this.#sender.giveUp();
  }

  async stop(): Promise<void> {
    for (const { ended } of this.#sessions.values()) ended.abort();
    this.#sessions.clear();
    this.#actions.stop();
    this.#server.closeAllConnections();
    const closed = once(this.#server, "close");
    this.#server.close();
    await closed;
    this.#sender.close();
  }

  /** A credential for a future run. It is not valid until `open` is called with it. */
  reserve(): Credential {
    const { port } = this.#server.address() as AddressInfo;
    const key = randomBytes(8).toString("hex");
    return { endpoint: `http://127.0.0.1:${port}/${key}/v1`, token: randomBytes(32).toString("hex") };
  }

  /** Grants a run access until it is closed. */
  open(info: RunInfo, { endpoint, token } = this.reserve()): RunAccess {
    const session = newSession(info, token);
    const [, key = ""] = new URL(endpoint).pathname.split("/");
    this.#sessions.set(key, session);
    this.#cache.sweep();
    this.#writes.sweep(READ_MAX_AGE_MS);
    const close = async () => {
      this.#sessions.delete(key);
      session.ended.abort();
      await Promise.allSettled(session.writes);
    };
    return { endpoint, token, close };
  }

  /** Reads from the API, never from the cache. What is read then serves the next run's reads of single resources. */
  async read<T>(path: string, priority: Priority = "normal"): Promise<T> {
    const resource = resourceOf(path);
    if (resource) await this.#lanes.idle(resource);
    const startedAt = this.#clock.now();
    const response = await this.#sender.send(READER, { method: "GET", path }, priority);
    if (response.status !== 200) throw cloudErrorOf(`GET ${path}`, response);
    const body = JSON.parse(response.body) as T;
    const maxAgeMs = LISTED_MAX_AGE_MS[collectionOf(path)] ?? READ_MAX_AGE_MS;
    const isCurrent = (read: string) => this.#writes.sinceMs(read) > this.#clock.now() - startedAt;
    // Otherwise the plugin would work from an older read than the plan does.
    if (resource && isCurrent(resource)) this.#cache.prime(path, resource, maxAgeMs, () => response);
    this.#cache.primeFrom(path, { headers: response.headers, list: body }, maxAgeMs, isCurrent);
    return body;
  }

  /** Milliseconds since a run last wrote to a collection: a younger list shows everything that runs have done to it. */
  sinceWriteMs(collection: Written): number {
    return this.#writes.sinceMs(collection);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const answer = await this.#answer(request).catch((error: unknown) =>
      errorResponse(503, "unavailable", `cannot reach the Hetzner API: ${messageOf(error)}`),
    );
    response.writeHead(answer.status, answer.headers).end(answer.body);
  }

  async #answer(incoming: IncomingMessage): Promise<ApiResponse> {
    const match = /^\/(?<key>[0-9a-f]{16})\/v1(?<path>\/.*)$/.exec(incoming.url ?? "");
    const session = this.#sessions.get(match?.groups?.key ?? "");
    if (!session || !isBearer(incoming.headers.authorization, session)) return ENDED;
    const body = await text(incoming);
    const path = match?.groups?.path ?? "/";
    if (!isNormalised(path)) return NOT_IN_RUN;
    const request: ApiRequest = { method: incoming.method ?? "GET", path, ...(body !== "" && { body }) };
    if (isRead(request)) return this.#passRead(session, request);
    if (session.mode === "preview") return errorResponse(403, "forbidden", "a preview may only read");
    if (path.includes("?") || session.permits?.(request) === false) return NOT_IN_RUN;
    return (await this.#create(session, request)) ?? (await this.#passRest(session, request));
  }

  async #passRead(session: Session, request: ApiRequest): Promise<ApiResponse> {
    if (request.path.startsWith("/actions?")) return this.#passPoll(request);
    const resource = resourceOf(request.path);
    if (resource) await this.#lanes.idle(resource);
    const about = resource ?? collectionOf(request.path);
    if (session.detached.has(about) && this.#cache.ageMs(request.path) >= REPEATED_MS) this.#cache.forget(about);
    if (resource && !this.#cache.has(request.path)) await this.#readList(session, resource);
    return this.#cache.get(request.path, about, READ_MAX_AGE_MS, () => this.#sender.send(session, request, "normal"));
  }

  /** Fills the cache from a list, after a write: the turn needs that list anyway, and one list serves many such reads. */
  async #readList({ list }: Session, resource: string): Promise<void> {
    const sinceMs = this.#writes.sinceMs(resource);
    if (sinceMs === 0 || sinceMs >= READ_MAX_AGE_MS) return;
    await list?.(collectionOf(`/${resource}`), sinceMs)?.catch(() => {}); // then it is read alone
  }

  async #passPoll({ path }: ApiRequest): Promise<ApiResponse> {
    const ids = new URLSearchParams(path.split("?")[1]).getAll("id").map(Number);
    const known = await this.#fetchActions(ids);
    const actions = await Promise.all(known.map((action) => this.#actions.settle(action, ACTION_HOLD_MS)));
    return { status: 200, headers: { "content-type": "application/json" }, body: JSON.stringify({ actions }) };
  }

  /** Creates a load balancer with everything the run will add to it. Returns undefined for other requests, and if refused. */
  async #create(session: Session, request: ApiRequest): Promise<ApiResponse | undefined> {
    if (request.method !== "POST" || request.path !== "/load_balancers") return undefined;
    const { name } = JSON.parse(request.body ?? "{}") as { name?: string };
    const spec = session.newBalancer?.(name ?? "");
    if (!spec) return undefined;
    const response = await this.#passWrite(session, createWhole(request, spec));
    if (isRefused(response.status)) return undefined;
    if (response.status === 201) {
      const { load_balancer, action } = JSON.parse(response.body) as { load_balancer: LoadBalancer; action: Action };
      // The plugin waits for this action before it adds anything, however long it takes.
      const ended: Action = { ...action, status: "success" };
      if (action.status !== "error") session.made.set(`load_balancers/${load_balancer.id}`, ended);
    }
    return response;
  }

  /** Sends what is left of a write. Nothing is left of one that adds what the creation of its load balancer included. */
  async #passRest(session: Session, request: ApiRequest): Promise<ApiResponse> {
    const resource = resourceOf(request.path);
    const action = session.made.get(resource ?? "");
    if (!action || request.method !== "POST") return this.#passWrite(session, request);
    const seen = await this.#passRead(session, { method: "GET", path: `/${resource}` });
    if (seen.status !== 200) return this.#passWrite(session, request);
    const rest = remainder(request, (JSON.parse(seen.body) as { load_balancer: LoadBalancer }).load_balancer);
    if (rest) return this.#passWrite(session, rest);
    return { status: 201, headers: { "content-type": "application/json" }, body: JSON.stringify({ action }) };
  }

  async #passWrite(session: Session, request: ApiRequest): Promise<ApiResponse> {
    const resource = resourceOf(request.path);
    const collection = collectionOf(request.path);
    const priority = request.method === "DELETE" ? "urgent" : "normal";
    const { signal } = session.ended;
    const forget = () => {
      if (resource) this.#cache.forget(resource);
      this.#cache.forget(collection);
    };
    const send = async () => {
      forget();
      // The run may end while this write is queued. It must not be sent then.
      if (signal.aborted) return ENDED;
      const sent = this.#sender.send(session, request, priority, signal);
      session.writes.add(sent);
      return sent.finally(() => session.writes.delete(sent));
    };
    using ends = new DisposableStack();
    ends.defer(this.#writes.begin(collection));
    if (resource) ends.defer(this.#writes.begin(resource));
    if (resource && request.path.endsWith("/detach_from_network")) session.detached.add(resource);
    const response = await (resource ? this.#lanes.run(resource, send) : send());
    const created = resource ? undefined : singleIn(collection, response);
    if (created) ends.defer(this.#writes.begin(created));
    const settled = isIssuance(request) ? withEndedAction(response) : await this.#settle(session, request, response);
    forget();
    return withoutRepetition(settled);
  }

  /**
   * The response once its action has ended. If the action is slow and others wait for the run, the plugin hears that it
   * failed, so that the run ends without it; the unit is reported as under way.
   */
  async #settle(session: Session, request: ApiRequest, response: ApiResponse): Promise<ApiResponse> {
    const action = runningActionIn(response);
    const unit = session.attribute?.(request, response.body);
    if (!action || unit === undefined || !session.onSlow) return this.#actions.settleIn(response, ACTION_HOLD_MS);
    const { settled, ended } = await this.#actions.settleUnlessSlow(response, action, {
      mostMs: ACTION_HOLD_MS,
      followMs: SLOW_LIMIT_MS,
      hurry: session.hurry,
    });
    if (settled) return settled;
    session.onSlow(unit, ended);
    return withFailedAction(response);
  }

  async #fetchActions(ids: readonly number[]): Promise<readonly Action[]> {
    const path = `/actions?${ids.map((id) => `id=${id}`).join("&")}`;
    const response = await this.#sender.send(READER, { method: "GET", path }, "urgent");
    if (response.status !== 200) throw cloudErrorOf(`GET ${path}`, response);
    return (JSON.parse(response.body) as { actions?: Action[] }).actions ?? [];
  }
}

/** True for the creation of a certificate. Issuing a managed one takes minutes, and no other step of a run depends on it. */
function isIssuance({ method, path }: ApiRequest): boolean {
  return method === "POST" && path === "/certificates";
}

const NOT_IN_RUN = errorResponse(403, "forbidden", "this change is not part of the run: nothing was sent");
const ENDED = errorResponse(401, "unauthorized", "this run has ended, or the credential belongs to another run");
