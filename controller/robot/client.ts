/** Reads of the Robot API, as few as possible: it allows a few hundred an hour. */
import type { RobotConfig } from "../config/config.ts";
import { CloudError, messageOf } from "../diagnostics/errors.ts";
import { parseJson } from "../diagnostics/printable.ts";
import { openWayOut, readText, type WayOut } from "../net/outbound.ts";
import { Aged } from "../work/aged.ts";
import { SYSTEM_CLOCK } from "../work/clock.ts";
import type { RobotInventory, RobotServer, RobotState } from "./api.ts";

const TIMEOUT_MS = 15_000;
const MAX_SOCKETS = 4;
/** After a failure Robot is left alone for so long: nodes of the cloud, looked up in the same pass, must not wait for it. */
const PAUSE_MS = 30_000;
/** A server's state is asked for at most this often. */
const STATE_MAX_AGE_MS = 60_000;

type Settings = Pick<RobotConfig, "endpoint" | "cacheMs" | "rateLimitWaitMs"> & {
  readonly credentials: { readonly user: string; readonly password: string };
};

/** Answers from memory while that is young enough, and while Robot refuses. */
export class RobotClient {
  readonly #settings: Settings;
  readonly #now: () => number;
  readonly #wayOut: WayOut;
  readonly #list: Aged<readonly RobotServer[]>;
  readonly #states = new Map<number, Aged<RobotState>>();
  /** The last list that could be read, however old. */
  #servers: readonly RobotServer[] | undefined;
  /** Why Robot is left alone, and until when. */
  #pause: { readonly until: number; readonly error: CloudError } | undefined;

  constructor(settings: Settings, now = SYSTEM_CLOCK.now) {
    this.#settings = settings;
    this.#now = now;
    this.#list = new Aged(() => this.#readAll(), now);
    this.#wayOut = openWayOut(settings.endpoint, process.env, MAX_SOCKETS);
  }

  /** All dedicated servers, or why they are not known. An older list is better than none. */
  async inventory(): Promise<RobotInventory> {
    try {
      return { kind: "listed", servers: await this.#list.get(this.#settings.cacheMs) };
    } catch (error) {
      if (this.#servers) return { kind: "listed", servers: this.#servers };
      return { kind: "unreadable", reason: messageOf(error) };
    }
  }

  /** Whether a server exists and runs. Missing is what the list lacks and a direct read does not find. */
  state(number: number): Promise<RobotState> {
    const state = this.#states.get(number) ?? new Aged(() => this.#look(number), this.#now);
    this.#states.set(number, state);
    return state.get(STATE_MAX_AGE_MS);
  }

  async #look(number: number): Promise<RobotState> {
    const servers = await this.#list.get(this.#settings.cacheMs);
    if (servers.length === 0) {
      const message = "Robot lists no servers at all: check that ROBOT_USER belongs to this cluster's account";
      throw new CloudError("GET /server", 200, "implausible", message);
    }
    const isListed = servers.some((server) => server.server_number === number);
    return isListed ? this.#power(number) : this.#existence(number);
  }

  /** Models whose power Robot cannot see count as running. */
  async #power(number: number): Promise<RobotState> {
    const answer = await this.#get<{ reset?: { operating_status?: string } }>(`/reset/${number}`);
    return answer?.reset?.operating_status === "shut off" ? "off" : "running";
  }

  async #existence(number: number): Promise<RobotState> {
    return (await this.#get(`/server/${number}`)) === undefined ? "missing" : "running";
  }

  async #readAll(): Promise<readonly RobotServer[]> {
    const answer = (await this.#get<readonly { readonly server: RobotServer }[]>("/server")) ?? [];
    this.#servers = answer.map(({ server }) => server);
    return this.#servers;
  }

  /** Nothing when Robot says that there is no such server. While Robot is left alone, fails as it did. */
  async #get<T>(path: string): Promise<T | undefined> {
    if (this.#pause && this.#now() < this.#pause.until) throw this.#pause.error;
    try {
      return await this.#ask<T>(path);
    } catch (error) {
      if (error instanceof CloudError) this.#pause = { until: this.#now() + this.#pauseMs(error), error };
      throw error;
    }
  }

  /** Robot locks out who asks too often (403), and who goes on asking with a wrong password (401). */
  #pauseMs({ status }: CloudError): number {
    return status === 401 || status === 403 ? this.#settings.rateLimitWaitMs : PAUSE_MS;
  }

  async #ask<T>(path: string): Promise<T | undefined> {
    const { endpoint, credentials } = this.#settings;
    const basic = Buffer.from(`${credentials.user}:${credentials.password}`).toString("base64");
    const { status, body: text } = await this.#read(`${endpoint}${path}`, `GET ${path}`, basic);
    // What is no JSON holds nothing for us: a proxy's page, or nothing.
    const body = parseJson<{ error?: { code?: string; message?: string } }>(text) ?? {};
    if (status >= 200 && status < 300) return body as T;
    const { code = `http_${status}`, message = "no reason given" } = body.error ?? {};
    if (status === 404 && /NOT_(FOUND|AVAILABLE)$/.test(code)) return undefined;
    throw new CloudError(`GET ${path}`, status, code, message);
  }

  async #read(url: string, request: string, basic: string) {
    try {
      const headers = { authorization: `Basic ${basic}`, accept: "application/json", "user-agent": "lotse" };
      return await readText(this.#wayOut, url, { headers, timeoutMs: TIMEOUT_MS });
    } catch (error) {
      throw new CloudError(request, 0, "unreachable", error);
    }
  }
}
