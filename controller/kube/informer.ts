/** A local copy of all objects of one kind, kept current by list and watch through every failure of the API server. */
import { KubeError, messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { type Clock, SYSTEM_CLOCK } from "../work/clock.ts";
import { TIMINGS } from "../work/timings.ts";
import type { KubeClient, WatchEvent } from "./client.ts";

/** The metadata that every object has. */
export interface KubeObject {
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
  };
}

/** A change of one object. `old` is absent for a new object, `now` for a deleted one. */
export interface Change<T> {
  readonly old?: T;
  readonly now?: T;
}

/** What to watch, and which callbacks to call. */
export interface InformerOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly path: string;
  readonly log: Logger;
  /** Called after the copy has changed. */
  readonly onChange: (change: Change<T>) => void;
  /** Called when an interrupted watch is open again, with the time without contact. */
  readonly onBack?: (silentMs: number) => void;
  /** Maximum time without contact for the copy to count as current. */
  readonly staleMs?: number | undefined;
  readonly clock?: Clock;
}

/** Consecutive refusals after which pauses grow: an API server that has just started refuses what it soon allows. */
const REFUSAL_PATIENCE = 12;
/** Statuses that retrying will not fix soon (missing permissions, unknown path), plus 429. */
const REFUSALS: ReadonlySet<number> = new Set([401, 403, 404, 429]);

/** Keeps a copy of all objects under one path. Act on it only while `isCurrent`. */
export class Informer<T extends KubeObject> {
  readonly #options: InformerOptions<T>;
  readonly #clock: Clock;
  readonly #items = new Map<string, T>();
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #version: string | undefined;
  #isSynced = false;
  #lastContact = 0;
  #openedAt = 0;
  /** Set while no watch is open: time of the last contact before the interruption. */
  #awaySince: number | undefined;
  #running: Promise<void> | undefined;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
    this.#clock = options.clock ?? SYSTEM_CLOCK;
  }

  get items(): ReadonlyMap<string, T> {
    return this.#items;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** Whether `items` may be acted on: the first list has arrived and the last contact is recent. */
  get isCurrent(): boolean {
    return this.#isSynced && this.silentMs <= (this.#options.staleMs ?? TIMINGS.stale);
  }

  /** Milliseconds since the last contact with the API server. */
  get silentMs(): number {
    return this.#clock.now() - this.#lastContact;
  }

  /** Starts listing and watching. Resolves when the first list has arrived. */
  start(): Promise<void> {
    this.#running ??= this.#run();
    return this.#synced.promise;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stop;
    let failures = 0;
    let isDisconnected = false;
    let isRefused = false;
    while (!signal.aborted) {
      try {
        if (isDisconnected) await this.#options.client.reach(signal);
        await this.#follow();
        [failures, isDisconnected, isRefused] = [0, false, false];
      } catch (error) {
        if (signal.aborted) return;
        // A watch that had been healthy starts a new series of failures.
        failures = this.#openMs() > TIMINGS.steadyWatch ? 1 : failures + 1;
        this.#awaySince ??= this.#lastContact;
        isDisconnected = !(error instanceof KubeError && error.status > 0);
        isRefused = error instanceof KubeError && REFUSALS.has(error.status);
        this.#logFailure(error, failures);
      }
      // Also after an orderly end: a server that closes every watch at once must not be flooded.
      await this.#clock.pause(retryDelay(failures, isRefused), signal);
    }
  }

  /** Follows one watch from where the last one ended. If the server has forgotten that point, lists at once. */
  async #follow(): Promise<void> {
    const isResumed = this.#version !== undefined;
    if (!isResumed) await this.#list();
    try {
      await this.#watch();
    } catch (error) {
      if (!(error instanceof KubeError && error.status === 410)) throw error;
      this.#version = undefined;
      if (!isResumed) throw error;
      this.#options.log.debug({ path: this.#options.path, error: error.message }, "watch expired, relisting");
      await this.#follow();
    }
  }

  #logFailure(error: unknown, failures: number): void {
    const { log, path } = this.#options;
    // A long outage is logged at exponential intervals: after 1, 2, 4, 8 … failures.
    const level = Number.isInteger(Math.log2(failures)) ? "warn" : "debug";
    log[level]({ path, error: messageOf(error), failures }, "watch interrupted, retrying");
  }

  /** How long the watch that just ended had been open; 0 if it never opened. */
  #openMs(): number {
    return this.#awaySince === undefined ? this.#clock.now() - this.#openedAt : 0;
  }

  async #list(): Promise<void> {
    const { items, metadata } = await readList<T>(this.#options.client, this.#options.path, this.#stop.signal);
    const found = new Map(items.map((item) => [keyOf(item), item]));
    this.#lastContact = this.#clock.now();
    const gone = [...this.#items].filter(([key]) => !found.has(key));
    for (const [key] of gone) this.#apply(key, undefined);
    for (const [key, item] of found) this.#apply(key, item);
    this.#version = metadata?.resourceVersion;
    this.#isSynced = true;
    this.#synced.resolve();
  }

  async #watch(): Promise<void> {
    const { shortest, longest, grace } = TIMINGS.watch;
    const timeoutSeconds = Math.round((shortest + Math.random() * (longest - shortest)) / 1000);
    const query = { resourceVersion: this.#version, timeoutSeconds };
    await this.#options.client.watch<T>(this.#options.path, query, {
      signal: this.#stop.signal,
      longestMs: timeoutSeconds * 1000 + grace,
      onOpen: () => {
        this.#lastContact = this.#clock.now();
        this.#openedAt = this.#lastContact;
        const awaySince = this.#awaySince;
        this.#awaySince = undefined;
        if (awaySince !== undefined) this.#options.onBack?.(this.#lastContact - awaySince);
      },
      onEvent: (event) => this.#handle(event),
    });
  }

  #handle({ type, object }: WatchEvent<T>): void {
    this.#lastContact = this.#clock.now();
    if (type === "ERROR") {
      const status = object as { code?: number; message?: string };
      throw new KubeError(`watch ${this.#options.path}`, status.code ?? 0, status.message ?? "watch error");
    }
    this.#version = object.metadata?.resourceVersion ?? this.#version;
    if (type !== "BOOKMARK") this.#apply(keyOf(object), type === "DELETED" ? undefined : object);
  }

  #apply(key: string, now: T | undefined): void {
    const old = this.#items.get(key);
    if (now) this.#items.set(key, now);
    else this.#items.delete(key);
    if (old?.metadata?.resourceVersion === now?.metadata?.resourceVersion) return;
    this.#options.onChange({ ...(old && { old }), ...(now && { now }) });
  }
}

/** `namespace/name`, or the name alone for cluster-scoped objects. */
export function keyOf({ metadata }: KubeObject): string {
  return metadata?.namespace ? `${metadata.namespace}/${metadata.name}` : (metadata?.name ?? "");
}

function retryDelay(failures: number, isRefused: boolean): number {
  const { first, most, mostRefused } = TIMINGS.watchRetry;
  const usual = Math.min(first * 2 ** failures, most);
  const refused = isRefused ? Math.min(first * 2 ** (failures - REFUSAL_PATIENCE), mostRefused) : 0;
  return Math.max(usual, refused) * (0.5 + Math.random() / 2);
}

/** A list, or one page of it. */
interface ObjectList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly T[];
}

/** Objects per page of a list. */
const PAGE = 500;

/** All objects under a path, with the resourceVersion to start a watch from. */
async function readList<T>(client: KubeClient, path: string, signal?: AbortSignal): Promise<ObjectList<T>> {
  const items: T[] = [];
  let page: ObjectList<T> | undefined;
  do {
    const query = { limit: PAGE, continue: page?.metadata?.continue || undefined };
    page = await client.get<ObjectList<T>>(path, query, signal);
    items.push(...page.items);
  } while (page.metadata?.continue);
  return { ...page, items };
}

/** The objects alone, for a one-time read. Use an informer to stay current. */
export async function listAll<T>(client: KubeClient, path: string): Promise<readonly T[]> {
  return (await readList<T>(client, path)).items;
}
