/** The Hetzner API for tools on this machine: plain requests that wait for the rate limit, lists, and actions that end. */
import { setTimeout as delay } from "node:timers/promises";
import { CloudError } from "../../controller/diagnostics/errors.ts";
import { programVersion } from "../../controller/diagnostics/version.ts";
import { cloudErrorOf } from "../../controller/hcloud/exchange.ts";
import { Sender, Upstream } from "../../controller/hcloud/sender.ts";
import type { PriceList } from "./prices.ts";

/** Where the API is, and the token for it. */
export interface Access {
  readonly endpoint: string;
  readonly token: string;
}

/** A resource of any kind, with the fields used here. */
export interface Resource {
  readonly id: number;
  readonly name: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly protection?: { readonly delete: boolean };
}

interface Action {
  readonly id: number;
  readonly command: string;
  readonly status: "running" | "success" | "error";
  readonly error: { readonly code: string; readonly message: string } | null;
}

/** The action of a write, and those that follow it. */
interface Started {
  readonly action?: Action | null;
  readonly next_actions?: readonly Action[];
}

/** The real API. */
export const DEFAULT_ENDPOINT = "https://api.hetzner.cloud/v1";
const TIMEOUT_MS = 60_000;
const ACTION_POLL_MS = 1_000;
const ACTION_DEADLINE_MS = 300_000;

/** A project of Hetzner Cloud. `tool` names the program in the User-Agent. */
export class ProjectApi implements Disposable {
  readonly #sender: Sender;
  readonly #tool: string;

  constructor({ endpoint, token }: Access, tool: string) {
    const userAgent = userAgentOf(tool);
    this.#sender = new Sender(
      new Upstream({ endpoint, token: () => token, userAgent, timeoutMs: TIMEOUT_MS }),
      () => {},
    );
    this.#tool = tool;
  }

  /** Sends a request, after a wait if the rate limit requires one. Throws a CloudError if it is refused. */
  async send<T>(method: "GET" | "POST" | "PUT" | "DELETE", path: string, body?: object): Promise<T> {
    const request = { method, path, ...(body && { body: JSON.stringify(body) }) };
    const response = await this.#sender.send({ run: this.#tool, mode: "apply" }, request, "urgent");
    if (response.status >= 300) throw cloudErrorOf(`${method} ${path}`, response);
    return (response.body === "" ? {} : JSON.parse(response.body)) as T;
  }

  /** A whole collection, or the part of it that a label selector selects. `query` has further parameters. */
  readonly list = async <T extends Resource>(collection: string, selector = "", query = ""): Promise<readonly T[]> => {
    const found: T[] = [];
    for (let page: number | null = 1; page !== null; ) {
      const labels = selector === "" ? "" : `&label_selector=${encodeURIComponent(selector)}`;
      const answer: Record<string, readonly T[]> & { meta: { pagination: { next_page: number | null } } } =
        await this.send("GET", `/${collection}?page=${page}&per_page=50${labels}${query}`);
      found.push(...(answer[collection] ?? []));
      page = answer.meta.pagination.next_page;
    }
    return found;
  };

  async prices(): Promise<PriceList> {
    return (await this.send<{ readonly pricing: PriceList }>("GET", "/pricing")).pricing;
  }

  /** Sends a write, and waits until all of its actions have ended. */
  async make<T>(path: string, body: object, signal?: AbortSignal): Promise<T> {
    const started = await this.send<T & Started>("POST", path, body);
    const actions = [started.action, ...(started.next_actions ?? [])].filter((it) => it !== null && it !== undefined);
    for (const action of actions) await this.#ended(action, path, signal);
    return started;
  }

  async #ended({ id }: Action, path: string, signal?: AbortSignal): Promise<void> {
    const deadline = performance.now() + ACTION_DEADLINE_MS;
    for (;;) {
      const { action } = await this.send<{ action: Action }>("GET", `/actions/${id}`);
      if (action.status === "success") return;
      const { code, message } = action.error ?? {
        code: "timeout",
        message: `${action.command} did not finish in time`,
      };
      if (action.status === "error" || performance.now() > deadline)
        throw new CloudError(`POST ${path}`, 0, code, message);
      await delay(ACTION_POLL_MS, undefined, signal && { signal });
    }
  }

  [Symbol.dispose](): void {
    this.#sender.close();
  }
}

/** How a tool presents itself to the API. */
export function userAgentOf(tool: string): string {
  return `lotse-${tool}/${programVersion()}`;
}

/** What a user can do about errors of the API. */
const HINTS: Readonly<Record<string, string>> = {
  uniqueness_error: "the project has a resource with this name or key already: choose another --name",
  resource_limit_exceeded: "raise the limit in the Cloud Console, or ask for less; the same command then continues",
  resource_unavailable: "choose another --location or server type; the same command then continues",
  placement_error: "choose another --location or server type; the same command then continues",
  forbidden: "HCLOUD_TOKEN may be read-only: create one with read and write rights",
  token_readonly: "HCLOUD_TOKEN is read-only: create one with read and write rights",
  unauthorized: "check HCLOUD_TOKEN",
};

/** The remedy for an error code of the API; undefined if none is known. */
export function hintFor(code: string): string | undefined {
  return HINTS[code];
}

/** What a user reads about an error of the API: what failed, and what to do. */
export function explainCloudError(error: CloudError, endpoint: string): string {
  if (error.apiCode === "unreachable") return `${endpoint} does not respond (${error.message}): check HCLOUD_ENDPOINT`;
  return withHint(error.message, hintFor(error.apiCode));
}

/** A message, and what to do about it, if that is known. */
export function withHint(message: string, hint: string | undefined): string {
  return hint === undefined ? message : `${message}; ${hint}`;
}
