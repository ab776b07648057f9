import { type Clock, renderTime } from "./clock.ts";
import { Table } from "./table.ts";

/** What an action belongs to, e.g. `{ type: "server", id: 4711 }`. */
export interface ResourceRef {
  readonly id: number;
  readonly type: string;
}

/** Why an action failed. */
export interface ActionError {
  readonly code: string;
  readonly message: string;
}

/** What happens to the state when an action ends well. Plain data, so that it survives a snapshot. */
export type Effect =
  | { readonly kind: "server-status"; readonly server: number; readonly status: "running" | "off" }
  | { readonly kind: "remove-server"; readonly server: number }
  | { readonly kind: "remove-load-balancer"; readonly loadBalancer: number }
  | { readonly kind: "issue-certificate"; readonly certificate: number };

/** A stored action. `endsAt` null means it never ends by itself. */
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

/** How the actions of one request end, if not in the usual way. */
export interface Fate {
  readonly durationMs?: number;
  readonly isStuck?: boolean;
  readonly error?: ActionError;
}

/** What starting an action needs; `afterMs` delays it behind another one. */
export interface ActionStart {
  readonly command: string;
  readonly resources: readonly ResourceRef[];
  readonly effect?: Effect;
  readonly error?: ActionError;
  readonly afterMs?: number;
}

/** Duration by command in milliseconds, `*` standing for the others, or one for all. */
export type ActionDurations = number | Readonly<Record<string, number>>;

const refKey = ({ type, id }: ResourceRef): string => `${type}/${id}`;

/** Settled actions kept for clients that still poll them; far more than any run needs, yet bounded. */
const KEPT_ACTIONS = 50_000;

/** All actions of a project: they start, run for a while on the project's clock, and outlive their resources. */
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

  /** Runs `body` so that the actions it starts meet the given fate. */
  withFate<T>(fate: Fate, body: () => T): T {
    this.#fate = fate;
    try {
      return body();
    } finally {
      this.#fate = {};
    }
  }

  /** How long a command takes here. */
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

  /** Takes the actions that have ended since the last call out of the running ones and returns them in order. */
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

  /** True while any action on the resource runs. */
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

/** An action as the API shows it. */
export type Action = ReturnType<Actions["view"]>;

function progressAt(now: number, startedAt: number, endsAt: number | null): number {
  if (endsAt === null || endsAt <= startedAt) return 0;
  return Math.min(99, Math.floor(((now - startedAt) / (endsAt - startedAt)) * 100));
}
