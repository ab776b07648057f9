/** Caches responses to reads for a short time; identical reads in flight share one request. */
import { parseJson } from "../diagnostics/printable.ts";
import { SYSTEM_CLOCK } from "../work/clock.ts";
import type { ApiResponse } from "./exchange.ts";

interface Entry {
  readonly answer: () => Promise<ApiResponse>;
  readonly resource: string;
  readonly expiresAt: number;
  /** When the response arrived; undefined while it is awaited. */
  arrivedAt?: number;
}

/** A cache by path. Entries are dropped when they expire or when their resource is written to. */
export class ReadCache {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;

  constructor(now = SYSTEM_CLOCK.now) {
    this.#now = now;
  }

  has(path: string): boolean {
    return (this.#entries.get(path)?.expiresAt ?? 0) > this.#now();
  }

  /** Milliseconds since the response to a read arrived; 0 without one. */
  ageMs(path: string): number {
    const now = this.#now();
    return now - (this.#entries.get(path)?.arrivedAt ?? now);
  }

  /** The response to a read, requested at most once per `maxAgeMs`. Failed reads are not cached. */
  get(path: string, resource: string, maxAgeMs: number, ask: () => Promise<ApiResponse>): Promise<ApiResponse> {
    const known = this.#entries.get(path);
    if (known && this.has(path)) return known.answer();
    const asked = ask();
    const entry: Entry = { answer: () => asked, resource, expiresAt: this.#now() + maxAgeMs };
    this.#entries.set(path, entry);
    const forget = () => {
      if (this.#entries.get(path) === entry) this.#entries.delete(path);
    };
    asked.then(({ status }) => {
      if (status === 200) entry.arrivedAt = this.#now();
      else forget();
    }, forget);
    return asked;
  }

  /** Adds a response that is known from elsewhere, e.g. one item of a list. It is serialised only when it is needed. */
  prime(path: string, resource: string, maxAgeMs: number, answer: () => ApiResponse): void {
    const arrivedAt = this.#now();
    this.#entries.set(path, { answer: async () => answer(), resource, expiresAt: arrivedAt + maxAgeMs, arrivedAt });
  }

  /** Adds the items of a list as single resources, except those being written to (`mayServe` is false). */
  primeFrom(
    path: string,
    { headers, list }: Pick<ApiResponse, "headers"> & { readonly list: unknown },
    maxAgeMs: number,
    mayServe: (resource: string) => boolean,
  ): void {
    const collection = /^\/(?<name>[a-z_]+)(?:\?|$)/.exec(path)?.groups?.name;
    const singular = collection && SINGULAR[collection];
    if (!singular) return;
    const items = (list as Record<string, readonly { readonly id: number }[]>)[collection] ?? [];
    for (const item of items) {
      const resource = `${collection}/${item.id}`;
      const single = () => ({ status: 200, headers, body: JSON.stringify({ [singular]: item }) });
      if (mayServe(resource)) this.prime(`/${resource}`, resource, maxAgeMs, single);
    }
  }

  /** Drops all entries of a resource that was or is being changed. */
  forget(resource: string): void {
    for (const [path, entry] of this.#entries) if (entry.resource === resource) this.#entries.delete(path);
  }

  /** Drops expired entries, so that the cache does not grow with every id ever seen. */
  sweep(): void {
    for (const [path, entry] of this.#entries) if (entry.expiresAt <= this.#now()) this.#entries.delete(path);
  }
}

/** Collections whose lists answer reads of their single resources. */
const SINGULAR: Readonly<Record<string, string>> = {
  servers: "server",
  load_balancers: "load_balancer",
  networks: "network",
  certificates: "certificate",
};

/** The resource in a response about a single one, such as that to its creation: `load_balancers/42`. */
export function singleIn(collection: string, { body }: ApiResponse): string | undefined {
  const single = parseJson<Record<string, { readonly id?: number } | undefined>>(body)?.[SINGULAR[collection] ?? ""];
  return single?.id === undefined ? undefined : `${collection}/${single.id}`;
}
