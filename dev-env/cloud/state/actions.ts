/** Actions: asynchronous operations that run for a while on the clock of the project. */
import { type Clock, renderTime } from "./clock.ts";
import { Table } from "./table.ts";

/** A resource of an action, e.g. `{ type: "server", id: 4711 }`. */
export interface ResourceRef {
  readonly id: number;
  readonly type: string;
}

/** Why an action failed. */
export interface ActionError {
  readonly code: string;
  readonly message: string;
}

/** What happens when an action succeeds. Plain data, so that snapshots can contain it. */
export type Effect =
  | { readonly kind: "server-status"; readonly server: number; readonly status: "running" | "off" }
  | { readonly kind: "remove-server"; readonly server: number }
  | { readonly kind: "remove-load-balancer"; readonly loadBalancer: number }
  | { readonly kind: "issue-certificate"; readonly certificate: number };

/** A stored action. If `endsAt` is null, it never ends by itself. */
export interface ActionRecord {
  readonly id: number;
  readonly command: string;
  readonly startedAt: number;
  readonly endsAt: number | null;
  readonly isSettled: boolean;
  readonly error: ActionError | null;
  readonly resources: readonly ResourceRef[];
  readonly effect: Effect | null;
}

/** How a fault changes the actions of a request. */
export interface Fate {
  readonly durationMs?: number;
  readonly isStuck?: boolean;
  readonly error?: ActionError;
}

/** An action to start. `afterMs` delays it. */
export interface ActionStart {
  readonly command: string;
  readonly resources: readonly ResourceRef[];
  readonly effect?: Effect;
  readonly error?: ActionError;
  readonly afterMs?: number;
}

/** Durations in milliseconds: one for all, or by command, with `*` for the others. */
export type ActionDurations = number | Readonly<Record<string, number>>;

const refKey = ({ type, id }: ResourceRef): string => `${type}/${id}`;

/** How many ended actions are kept for clients that still poll them. */
const KEPT_ACTIONS = 50_000;

/** All actions of a project. They outlive their resources. */
export class Actions {
  readonly table = new Table<ActionRecord>((action) => action.resources.map(refKey));
  readonly #running = new Map<number, ActionRecord>();
  readonly #clock: Clock;
  readonly #durations: ActionDurations;
  readonly #nextId: () => number;
  #fate: Fate = {};

  constructor(clock: Clock, durations: ActionDurations, nextId: () => number) {
    this.#clock = clock;
    this.#durations = durations;
    this.#nextId = nextId;
  }

  /** Runs `body`, and applies the fate to all actions it starts. */
  withFate<T>(fate: Fate, body: () => T): T {
    this.#fate = fate;
    try {
      return body();
    } finally {
      this.#fate = {};
    }
  }

  /** The duration of a command. */
  durationOf(command: string): number {
    if (this.#fate.durationMs !== undefined) return this.#fate.durationMs;
    if (typeof this.#durations === "number") return this.#durations;
    return this.#durations[command] ?? this.#durations["*"] ?? 0;
  }

  start({ command, resources, effect, error, afterMs = 0 }: ActionStart): ActionRecord {
    const startedAt = this.#clock.now();
    const action: ActionRecord = {
      id: this.#nextId(),
      command,
      startedAt,
      endsAt: this.#fate.isStuck ? null : startedAt + afterMs + this.durationOf(command),
      isSettled: false,
      error: this.#fate.error ?? error ?? null,
      resources,
      effect: effect ?? null,
    };
    this.#running.set(action.id, action);
    return this.table.put(action);
  }

  /** Returns the actions that have ended since the last call, in order. */
  settle(): readonly ActionRecord[] {
    if (this.#running.size === 0) return [];
    const due = [...this.#running.values()].filter((action) => this.hasEnded(action));
    for (const action of due) {
      this.#running.delete(action.id);
      this.table.put({ ...action, isSettled: true });
    }
    this.#forgetOldest();
    return due;
  }

  hasEnded({ endsAt }: ActionRecord): boolean {
    return endsAt !== null && endsAt <= this.#clock.now();
  }

  /** Whether an action of the resource is running. */
  isBusy(ref: ResourceRef): boolean {
    if (this.#running.size === 0) return false;
    for (const id of this.table.idsWith(refKey(ref))) {
      const action = this.#running.get(id);
      if (action && !this.hasEnded(action)) return true;
    }
    return false;
  }

  of(ref: ResourceRef): readonly ActionRecord[] {
    return this.table.rowsWith(refKey(ref));
  }

  /** Ends a stuck or slow action now. */
  finish(id: number, error: ActionError | null = null): void {
    const action = this.#running.get(id);
    if (!action) return;
    const ended = { ...action, endsAt: this.#clock.now(), error };
    this.#running.set(id, this.table.put(ended));
  }

  /** Call after the table was replaced or rolled back. */
  rebuildRunning(): void {
    this.#running.clear();
    for (const action of this.table.values()) {
      if (!action.isSettled) this.#running.set(action.id, action);
    }
  }

  view = (action: ActionRecord) => {
    const { id, command, startedAt, endsAt, resources } = action;
    const hasEnded = this.hasEnded(action);
    const status: "running" | "success" | "error" = hasEnded ? (action.error ? "error" : "success") : "running";
    return {
      id,
      command,
      status,
      progress: hasEnded ? 100 : progressAt(this.#clock.now(), startedAt, endsAt),
      started: renderTime(startedAt),
      finished: hasEnded && endsAt !== null ? renderTime(endsAt) : null,
      resources,
      error: hasEnded ? action.error : null,
    };
  };

  #forgetOldest(): void {
    for (const action of this.table.values()) {
      if (this.table.size <= KEPT_ACTIONS) return;
      if (action.isSettled) this.table.delete(action.id);
    }
  }
}

/** An action in the shape of the API. */
export type Action = ReturnType<Actions["view"]>;

function progressAt(now: number, startedAt: number, endsAt: number | null): number {
  if (endsAt === null || endsAt <= startedAt) return 0;
  return Math.min(99, Math.floor(((now - startedAt) / (endsAt - startedAt)) * 100));
}
