/** The journal of all requests. */
import { globMatcher } from "./glob.ts";

/** One request with its result. `route` has `{}` for numbers. Status 0 means a dropped connection. */
export interface JournalEntry {
  readonly at: number;
  readonly method: string;
  readonly path: string;
  readonly route: string;
  readonly status: number;
  /** The error code of a failed request. */
  readonly code?: string;
  /** The User-Agent. */
  readonly caller: string;
  /** The `X-Lotse-Run` header, if sent. */
  readonly run?: string;
  readonly durationMs: number;
}

/** Selects entries; absent fields match everything. `path` may contain `*` (one segment) and `**`. */
export type JournalFilter = Partial<Pick<JournalEntry, "method" | "path" | "status" | "code" | "caller" | "run">>;

const CAPACITY = 200_000;

/** All requests in order. At its capacity the journal drops the older half. */
export class Journal {
  #entries: JournalEntry[] = [];

  get entries(): readonly JournalEntry[] {
    return this.#entries;
  }

  record(entry: JournalEntry): void {
    if (this.#entries.length >= CAPACITY) this.#entries = this.#entries.slice(CAPACITY / 2);
    this.#entries.push(entry);
  }

  select(filter: JournalFilter = {}): readonly JournalEntry[] {
    const pathMatches = globMatcher(filter.path ?? "**");
    return this.#entries.filter(
      (entry) =>
        (filter.method === undefined || entry.method === filter.method) &&
        (filter.status === undefined || entry.status === filter.status) &&
        (filter.code === undefined || entry.code === filter.code) &&
        (filter.caller === undefined || entry.caller.includes(filter.caller)) &&
        (filter.run === undefined || entry.run === filter.run) &&
        pathMatches(entry.path),
    );
  }

  count(filter: JournalFilter = {}): number {
    return this.select(filter).length;
  }

  /** Requests other than GET. */
  get writes(): readonly JournalEntry[] {
    return this.#entries.filter((entry) => entry.method !== "GET");
  }

  /** How often each `METHOD route` was called, most frequent first. */
  tally(filter: JournalFilter = {}): ReadonlyMap<string, number> {
    const counts = new Map<string, number>();
    for (const { method, route } of this.select(filter)) {
      const key = `${method} ${route}`;
      counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    return new Map([...counts].sort(([, a], [, b]) => b - a));
  }

  clear(): void {
    this.#entries = [];
  }
}
