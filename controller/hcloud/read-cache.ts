/** Answers to reads: identical ones in flight are asked once, and a fresh answer serves for a moment. */
import { SYSTEM_CLOCK } from "../work/clock.ts";
import type { ApiResponse } from "./exchange.ts";

interface Entry {
  readonly answer: () => Promise<ApiResponse>;
  readonly resource: string;
  readonly expiresAt: number;
}

/** Entries are dropped when they expire or when their resource is written to. */
export class ReadCache {
  readonly #entries = new Map<string, Entry>();
  readonly #now: () => number;

  constructor(now = SYSTEM_CLOCK.now) {
    this.#now = now;
  }

  /** The answer to a read, asked for at most once per `maxAgeMs`. Failed reads are not kept. */
  get(path: string, resource: string, maxAgeMs: number, ask: () => Promise<ApiResponse>): Promise<ApiResponse> {
    const known = this.#entries.get(path);
    if (known && known.expiresAt > this.#now()) return known.answer();
    const asked = ask();
    const entry: Entry = { answer: () => asked, resource, expiresAt: this.#now() + maxAgeMs };
    this.#entries.set(path, entry);
    const forget = () => {
      if (this.#entries.get(path) === entry) this.#entries.delete(path);
    };
    asked.then((response) => response.status !== 200 && forget(), forget);
    return asked;
  }

  /** Puts in an answer that is known from elsewhere, e.g. one resource out of a list. It is made when somebody asks. */
  prime(path: string, resource: string, maxAgeMs: number, answer: () => ApiResponse): void {
    const entry = { answer: async () => answer(), resource, expiresAt: this.#now() + maxAgeMs };
    this.#entries.set(path, entry);
  }

  /** Puts in the single resources of a list that was read, as far as `mayServe` says that nothing is being written to them. */
  primeFrom(
    path: string,
    { headers, list }: ReadList,
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

  /** Forgets everything about a resource, because it was or is being changed. */
  forget(resource: string): void {
    for (const [path, entry] of this.#entries) if (entry.resource === resource) this.#entries.delete(path);
  }

  /** Forgets what has expired, so that the cache does not grow with every id ever seen. */
  sweep(): void {
    for (const [path, entry] of this.#entries) if (entry.expiresAt <= this.#now()) this.#entries.delete(path);
  }
}

/** A list as the API gave it. */
interface ReadList {
  readonly headers: ApiResponse["headers"];
  readonly list: unknown;
}

/** Collections whose lists answer reads of their single resources. */
const SINGULAR: Readonly<Record<string, string>> = {
  servers: "server",
  load_balancers: "load_balancer",
  networks: "network",
  certificates: "certificate",
};
