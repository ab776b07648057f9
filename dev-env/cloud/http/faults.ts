/** Injected faults. */
import { STATUS_OF } from "../api/errors.ts";
import type { Fate } from "../state/actions.ts";
import { globMatcher } from "./glob.ts";

/** What happens. With `after`, the change is made first, which the caller cannot know. */
export type FaultEffect =
  | { readonly kind: "latency"; readonly ms: number }
  | Readonly<{ kind: "error"; code: string; status?: number; message?: string; after?: boolean }>
  | { readonly kind: "drop"; readonly after?: boolean }
  | { readonly kind: "read-only" }
  | { readonly kind: "short-list"; readonly ids: readonly number[] }
  | { readonly kind: "slow-action"; readonly ms: number }
  | { readonly kind: "failed-action"; readonly code: string; readonly message?: string }
  | { readonly kind: "stuck-action" };

/** All kinds of effects. */
export const FAULT_KINDS = [
  "latency",
  "error",
  "drop",
  "read-only",
  "short-list",
  "slow-action",
  "failed-action",
  "stuck-action",
] as const satisfies readonly FaultEffect["kind"][];

/** A fault: the requests it affects, how many of them, and its effect. `path` is a glob for the path after `/v1`. */
export interface Fault {
  readonly effect: FaultEffect;
  readonly method?: string;
  readonly path?: string;
  /** Text that the User-Agent must contain. */
  readonly caller?: string;
  /** Number of matching requests to let pass first. */
  readonly skip?: number;
  /** Number of requests to affect; absent means all. */
  readonly times?: number;
}

interface Entry {
  readonly id: number;
  readonly fault: Fault;
  readonly matches: (path: string) => boolean;
  /** Matching requests so far, including skipped ones. */
  seen: number;
  /** Affected requests so far. */
  struck: number;
}

/** All active faults, in the order of addition. Every matching fault affects a request. */
export class Faults {
  readonly #entries = new Map<number, Entry>();
  #nextId = 1;

  add(fault: Fault): { readonly id: number; remove(): void; readonly struck: number } {
    const id = this.#nextId++;
    const entry: Entry = { id, fault, matches: globMatcher(fault.path ?? "**"), seen: 0, struck: 0 };
    this.#entries.set(id, entry);
    return {
      id,
      remove: () => void this.#entries.delete(id),
      get struck() {
        return entry.struck;
      },
    };
  }

  clear(): void {
    this.#entries.clear();
  }

  list() {
    return [...this.#entries.values()].map(({ id, fault, seen, struck }) => ({ id, ...fault, seen, struck }));
  }

  /** Returns the effects on this request, and counts them. */
  strike(method: string, path: string, caller: string): readonly FaultEffect[] {
    if (this.#entries.size === 0) return [];
    return [...this.#entries.values()].flatMap((entry) => {
      const { fault } = entry;
      const isMatch =
        (fault.method === undefined || fault.method === method) &&
        (fault.caller === undefined || caller.includes(fault.caller)) &&
        entry.matches(path);
      if (!isMatch) return [];
      entry.seen += 1;
      if (entry.seen <= (fault.skip ?? 0) || entry.struck >= (fault.times ?? Infinity)) return [];
      entry.struck += 1;
      return [fault.effect];
    });
  }
}

/** How these effects change the actions of a request. */
export function fateOf(effects: readonly FaultEffect[]): Fate {
  let fate: Fate = {};
  for (const effect of effects) {
    if (effect.kind === "slow-action") fate = { ...fate, durationMs: effect.ms };
    if (effect.kind === "stuck-action") fate = { ...fate, isStuck: true };
    if (effect.kind === "failed-action") {
      fate = { ...fate, error: { code: effect.code, message: effect.message ?? `injected: ${effect.code}` } };
    }
  }
  return fate;
}

/** Removes entries from a list and from its count, so that clients cannot notice. */
export function shortened(body: unknown, effects: readonly FaultEffect[]): unknown {
  const ids = new Set(effects.flatMap((effect) => (effect.kind === "short-list" ? effect.ids : [])));
  if (ids.size === 0 || typeof body !== "object" || body === null) return body;
  let missing = 0;
  const fields = Object.entries(body).map(([key, value]) => {
    if (!Array.isArray(value)) return [key, value];
    const shown = value.filter((entry: { readonly id?: number }) => !ids.has(entry.id ?? 0));
    missing += value.length - shown.length;
    return [key, shown];
  });
  const { meta, ...rest } = Object.fromEntries(fields);
  if (!meta?.pagination) return { ...rest, ...(meta && { meta }) };
  const total_entries = meta.pagination.total_entries - missing;
  return { ...rest, meta: { ...meta, pagination: { ...meta.pagination, total_entries } } };
}

/** The HTTP status of an injected error. */
export function statusOf(effect: Extract<FaultEffect, { kind: "error" }>): number {
  return effect.status ?? STATUS_OF[effect.code] ?? 422;
}
