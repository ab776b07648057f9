/** A local copy of one kind of object, kept current by list and watch, that survives whatever the API server does. */
import { setTimeout } from "node:timers/promises";
import { KubeError, messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import type { KubeClient, WatchEvent } from "./client.ts";

/** What every object has. */
export interface KubeObject {
  readonly metadata?: {
    readonly name?: string;
    readonly namespace?: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
  };
}

interface ObjectList<T> {
  readonly metadata?: { readonly resourceVersion?: string; readonly continue?: string };
  readonly items: readonly T[];
}

export interface InformerOptions<T extends KubeObject> {
  readonly client: KubeClient;
  readonly path: string;
  readonly log: Logger;
  /** Called after the copy changed; `old` is absent for a new object, `now` for a deleted one. */
  readonly onChange: (change: { readonly old?: T; readonly now?: T }) => void;
}

/** Objects per page of a list. */
const PAGE = 500;
/**
 * A watch is as long as we are willing to be deceived by a connection that is only half open: the API server ends it after
 * this time, so that one that goes on without a sign of life is dead. Opening the next one costs two small requests.
 */
const WATCH_SECONDS = { least: 30, most: 45 };
/** How much later than agreed the end may come. */
const LATE_SECONDS = 5;
/** The API server has few clients like us: soon after it is back we may be there. */
const RETRY_MS = { first: 200, most: 1_000 };

/** Keeps a copy of all objects under one path. `items` is empty and must not be acted on until `synced`. */
export class Informer<T extends KubeObject> {
  readonly #options: InformerOptions<T>;
  readonly #items = new Map<string, T>();
  readonly #stop = new AbortController();
  readonly #synced = Promise.withResolvers<void>();
  #version: string | undefined;
  #isSynced = false;
  #lastContact = 0;
  #running: Promise<void> | undefined;

  constructor(options: InformerOptions<T>) {
    this.#options = options;
  }

  get items(): ReadonlyMap<string, T> {
    return this.#items;
  }

  get isSynced(): boolean {
    return this.#isSynced;
  }

  /** When the API server last said anything, as `performance.now()`. */
  get lastContact(): number {
    return this.#lastContact;
  }

  /** Starts listing and watching. Resolves when the first list is in. */
  start(): Promise<void> {
    this.#running ??= this.#run();
    return this.#synced.promise;
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    let failures = 0;
    while (!this.#stop.signal.aborted) {
      try {
        if (this.#version === undefined) await this.#list();
        await this.#watch();
        failures = 0;
      } catch (error) {
        if (this.#stop.signal.aborted) return;
        failures = this.#note(error, failures);
      }
      // Also after an orderly end: a server that closes every watch at once must not be hammered.
      await pause(retryDelay(failures), this.#stop.signal);
    }
  }

  #note(error: unknown, failures: number): number {
    if (error instanceof KubeError && error.status === 410) this.#version = undefined;
    const { log, path } = this.#options;
    const count = failures + 1;
    // An outage of hours is tried every second and said now and then: after 1, 2, 4, 8 … failures.
    const level = Number.isInteger(Math.log2(count)) ? "warn" : "debug";
    log[level]({ path, error: messageOf(error), failures: count }, "watch interrupted, trying again");
    return count;
  }

  async #list(): Promise<void> {
    const found = new Map<string, T>();
    let page: ObjectList<T> | undefined;
    do {
      const query = { limit: PAGE, continue: page?.metadata?.continue || undefined };
      page = await this.#options.client.get<ObjectList<T>>(this.#options.path, query);
      for (const item of page.items) found.set(keyOf(item), item);
    } while (page.metadata?.continue);
    this.#lastContact = performance.now();
    const gone = [...this.#items].filter(([key]) => !found.has(key));
    for (const [key] of gone) this.#apply(key, undefined);
    for (const [key, item] of found) this.#apply(key, item);
    this.#version = page.metadata?.resourceVersion;
    this.#isSynced = true;
    this.#synced.resolve();
  }

  async #watch(): Promise<void> {
    const { least, most } = WATCH_SECONDS;
    const timeoutSeconds = Math.round(least + Math.random() * (most - least));
    const query = { resourceVersion: this.#version, timeoutSeconds };
    await this.#options.client.watch<T>(this.#options.path, query, {
      signal: this.#stop.signal,
      silenceMs: (timeoutSeconds + LATE_SECONDS) * 1000,
      onOpen: () => {
        this.#lastContact = performance.now();
      },
      onEvent: (event) => this.#take(event),
    });
  }

  #take({ type, object }: WatchEvent<T>): void {
    this.#lastContact = performance.now();
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

/** `namespace/name`, or the name alone for what has no namespace. */
export function keyOf({ metadata }: KubeObject): string {
  return metadata?.namespace ? `${metadata.namespace}/${metadata.name}` : (metadata?.name ?? "");
}

function retryDelay(failures: number): number {
  const most = Math.min(RETRY_MS.first * 2 ** failures, RETRY_MS.most);
  return most * (0.5 + Math.random() / 2);
}

/** Waits, but not beyond the signal. */
async function pause(ms: number, signal: AbortSignal): Promise<void> {
  await setTimeout(ms, undefined, { signal }).catch(() => {}); // an abort is not a failure: the caller looks at the signal
}
