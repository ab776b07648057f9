/** Reads from the Robot API, as few as possible: it allows a few hundred per hour. */
import type { RobotConfig } from "../config/config.ts";
import { CloudError, messageOf } from "../diagnostics/errors.ts";
import { parseJson } from "../diagnostics/printable.ts";
import { userAgent } from "../diagnostics/version.ts";
import { openWayOut, readText, type WayOut } from "../net/outbound.ts";
import { Aged } from "../work/aged.ts";
import { SYSTEM_CLOCK } from "../work/clock.ts";
import { parseServers, type RobotInventory, type RobotServer, type RobotState } from "./api.ts";

const TIMEOUT_MS = 15_000;
const MAX_SOCKETS = 4;
/** Pause after a failure, so that cloud nodes in the same turn do not wait for Robot. */
const PAUSE_MS = 30_000;
/** Maximum age of a server's state. */
const STATE_MAX_AGE_MS = 60_000;

type Settings = Pick<RobotConfig, "endpoint" | "cacheMs" | "rateLimitWaitMs"> & {
  readonly credentials: { readonly user: string; readonly password: string };
};

/** Answers from its cache while that is recent enough, and while Robot fails. */
export class RobotClient {
  readonly #settings: Settings;
  readonly #now: () => number;
  readonly #wayOut: WayOut;
  readonly #list: Aged<readonly RobotServer[]>;
  readonly #states = new Map<number, Aged<RobotState>>();
  /** The last list, whatever its age. */
  #servers: readonly RobotServer[] | undefined;
  /** Why no requests are sent, and until when. */
  #pause: { readonly until: number; readonly error: CloudError } | undefined;

  constructor(settings: Settings, now = SYSTEM_CLOCK.now) {
    this.#settings = settings;
    this.#now = now;
    this.#list = new Aged(() => this.#readAll(), now);
    this.#wayOut = openWayOut(settings.endpoint, process.env, MAX_SOCKETS);
  }

  /** All dedicated servers, or why they are not known. Falls back to an older list. */
  async inventory(): Promise<RobotInventory> {
    try {
      return { kind: "listed", servers: await this.#list.get(this.#settings.cacheMs) };
    } catch (error) {
      if (this.#servers) return { kind: "listed", servers: this.#servers };
      return { kind: "unreadable", reason: messageOf(error) };
    }
  }

  /** Whether a server exists and runs. It is missing only if neither the list nor a direct read finds it. */
  state(number: number): Promise<RobotState> {
    const state = this.#states.get(number) ?? new Aged(() => this.#readState(number), this.#now);
    this.#states.set(number, state);
    return state.get(STATE_MAX_AGE_MS);
  }

  async #readState(number: number): Promise<RobotState> {
    const servers = await this.#list.get(this.#settings.cacheMs);
    if (servers.length === 0) {
      const message = "Robot lists no servers at all: check that ROBOT_USER belongs to this cluster's account";
      throw new CloudError("GET /server", 200, "implausible", message);
    }
    const isListed = servers.some((server) => server.server_number === number);
    if (!isListed) return (await this.#get(`/server/${number}`, asIs)) === undefined ? "missing" : "running";
    const answer = await this.#get(`/reset/${number}`, asIs<{ reset?: { operating_status?: string } }>);
    // Servers whose power state Robot does not know count as running.
    return answer?.reset?.operating_status === "shut off" ? "off" : "running";
  }

  async #readAll(): Promise<readonly RobotServer[]> {
    this.#servers = (await this.#get("/server", parseServers)) ?? [];
    return this.#servers;
  }

  /** Undefined when the server does not exist. During a pause, repeats the failure that caused it. */
  async #get<T>(path: string, parse: (body: object) => T | undefined): Promise<T | undefined> {
    if (this.#pause && this.#now() < this.#pause.until) throw this.#pause.error;
    try {
      return await this.#ask(path, parse);
    } catch (error) {
      if (error instanceof CloudError) this.#pause = { until: this.#now() + this.#pauseMs(error), error };
      throw error;
    }
  }

  /** Robot locks out clients that exceed the rate limit (403) or keep using a wrong password (401). */
  #pauseMs({ status }: CloudError): number {
    return status === 401 || status === 403 ? this.#settings.rateLimitWaitMs : PAUSE_MS;
  }

  async #ask<T>(path: string, parse: (body: object) => T | undefined): Promise<T | undefined> {
    const { endpoint, credentials } = this.#settings;
    const basic = Buffer.from(`${credentials.user}:${credentials.password}`).toString("base64");
    const headers = { authorization: `Basic ${basic}`, accept: "application/json", "user-agent": userAgent() };
    const options = { headers, timeoutMs: TIMEOUT_MS };
    const { status, body: text } = await readText(this.#wayOut, endpoint + path, options).catch((error: unknown) => {
      throw new CloudError(`GET ${path}`, 0, "unreachable", error);
    });
    // A body that is not JSON comes from a proxy, or is empty.
    const body = parseJson<{ error?: { code?: string; message?: string } }>(text);
    if (status >= 200 && status < 300) {
      const parsed = typeof body === "object" ? parse(body) : undefined;
      if (parsed === undefined) throw new CloudError(`GET ${path}`, status, "invalid_response", STRANGE);
      return parsed;
    }
    const { code = `http_${status}`, message = "no reason given" } = body?.error ?? {};
    if (status === 404 && /NOT_(FOUND|AVAILABLE)$/.test(code)) return undefined;
    throw new CloudError(`GET ${path}`, status, code, message);
  }
}

const STRANGE = "the response is not what Robot sends: check ROBOT_ENDPOINT and proxies";

/** For objects of which no field is required. */
function asIs<T extends object>(body: object): T {
  return body as T;
}
