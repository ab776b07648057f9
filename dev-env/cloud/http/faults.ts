import { STATUS_OF } from "../api/errors.ts";
import { array, boolean, type Check, integer, object, oneOf, optional, reject, string } from "../api/schema.ts";
import type { Fate } from "../state/actions.ts";
import { globMatcher } from "./glob.ts";

/** What goes wrong. `after` means: only once the change has been made, so that the caller cannot know. */
export type FaultEffect =
  | { readonly kind: "latency"; readonly ms: number }
  | {
      readonly kind: "error";
      readonly code: string;
      readonly status?: number | undefined;
      readonly message?: string | undefined;
      readonly after?: boolean | undefined;
    }
  | { readonly kind: "drop"; readonly after?: boolean | undefined }
  | { readonly kind: "read-only" }
  | { readonly kind: "short-list"; readonly ids: readonly number[] }
  | { readonly kind: "slow-action"; readonly ms: number }
  | { readonly kind: "failed-action"; readonly code: string; readonly message?: string | undefined }
  | { readonly kind: "stuck-action" };

/** A fault: which requests (glob over the path after `/v1`), how many of them, and what happens. */
export interface Fault {
  readonly effect: FaultEffect;
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  /** Only callers whose User-Agent contains this. */
  readonly caller?: string | undefined;
  /** Lets this many matching requests pass first. */
  readonly skip?: number | undefined;
  /** Strikes this often; absent means for ever. */
  readonly times?: number | undefined;
}

/** A fault in force. */
export interface ActiveFault extends Fault {
  readonly id: number;
  /** Matching requests so far, skipped ones included. */
  readonly seen: number;
  /** How often it struck. */
  readonly struck: number;
}

interface Entry {
  readonly id: number;
  readonly fault: Fault;
  readonly matches: (path: string) => boolean;
  seen: number;
  struck: number;
}

/** All faults in force, in the order they were added; every matching one strikes. */
export class Faults {
  readonly #entries = new Map<number, Entry>();
  #nextId = 1;

  add(fault: Fault): { readonly id: number; remove(): void; readonly struck: number } {
    const id = this.#nextId++;
    const entry: Entry = { id, fault, matches: globMatcher(fault.path ?? "**"), seen: 0, struck: 0 };
    this.#entries.set(id, entry);
    return {
      id,
      remove: () => this.remove(id),
      get struck() {
        return entry.struck;
      },
    };
  }

  remove(id: number): void {
    this.#entries.delete(id);
  }

  clear(): void {
    this.#entries.clear();
  }

  list(): readonly ActiveFault[] {
    return [...this.#entries.values()].map(({ id, fault, seen, struck }) => ({ id, ...fault, seen, struck }));
  }

  /** Effects that strike this request; counts them. */
  strike(method: string, path: string, caller: string): readonly FaultEffect[] {
    if (this.#entries.size === 0) return [];
    return [...this.#entries.values()].flatMap((entry) => {
      const { fault } = entry;
      const isMeant =
        (fault.method === undefined || fault.method === method) &&
        (fault.caller === undefined || caller.includes(fault.caller)) &&
        entry.matches(path);
      if (!isMeant) return [];
      entry.seen += 1;
      if (entry.seen <= (fault.skip ?? 0) || entry.struck >= (fault.times ?? Infinity)) return [];
      entry.struck += 1;
      return [fault.effect];
    });
  }
}

/** How the actions of a request struck by these effects end. */
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

const ms = integer({ min: 0, max: 3_600_000 });
const effectShapes = {
  latency: object({ kind: oneOf("latency"), ms }),
  error: object({
    kind: oneOf("error"),
    code: string({ min: 1 }),
    status: optional(integer({ min: 400, max: 599 })),
    message: optional(string()),
    after: optional(boolean),
  }),
  drop: object({ kind: oneOf("drop"), after: optional(boolean) }),
  "read-only": object({ kind: oneOf("read-only") }),
  "short-list": object({ kind: oneOf("short-list"), ids: array(integer({ min: 1 })) }),
  "slow-action": object({ kind: oneOf("slow-action"), ms }),
  "failed-action": object({ kind: oneOf("failed-action"), code: string({ min: 1 }), message: optional(string()) }),
  "stuck-action": object({ kind: oneOf("stuck-action") }),
} as const;

const effectCheck: Check<FaultEffect> = (value, path) => {
  const kind = typeof value === "object" && value !== null && "kind" in value ? String(value.kind) : "";
  const check = Object.entries(effectShapes).find(([name]) => name === kind)?.[1];
  return check ? check(value, path) : reject(`${path}.kind`, `Must be one of ${Object.keys(effectShapes).join(", ")}.`);
};

/** A fault as it comes over the control endpoint. */
export const faultBody: Check<Fault> = object({
  effect: effectCheck,
  method: optional(oneOf("GET", "POST", "PUT", "DELETE")),
  path: optional(string()),
  caller: optional(string()),
  skip: optional(integer({ min: 0 })),
  times: optional(integer({ min: 1 })),
});

/** A list without the entries that these effects leave out; its count lacks them too, so that nobody can tell. */
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

/** HTTP status an injected error is sent with. */
export function statusOf(effect: Extract<FaultEffect, { kind: "error" }>): number {
  return effect.status ?? STATUS_OF[effect.code] ?? 422;
}
