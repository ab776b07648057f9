/** Waits for running actions, all with one batched request at a time. */
import { type Clock, SYSTEM_CLOCK } from "../work/clock.ts";
import type { ApiResponse } from "./exchange.ts";

/** An action of the API. Fields not listed here are passed on unchanged. */
export interface Action {
  readonly id: number;
  readonly command: string;
  readonly status: "running" | "success" | "error";
}

/** Action ids per request; more would need a second page. */
const BATCH = 25;
/** Expected duration of an action before any has been observed. */
const FIRST_GUESS_MS = 300;
/** Limits of the time between two polls. */
const POLL_MS = { least: 100, between: 250, most: 2_000 };
/** Actions expected to end within `gap` of each other share a poll, unless that delays one by more than `most`. */
const TOGETHER_MS = { gap: 100, most: 500 };

interface Watched {
  readonly startedAt: number;
  readonly command: string;
  readonly done: PromiseWithResolvers<Action>;
  polls: number;
  /** Number of callers waiting. An action without any is no longer polled. */
  waiting: number;
}

/**
 * Reports when actions end. It learns how long actions of each kind take and polls when they are likely to have ended, because
 * every request counts against the rate limit that the whole project shares.
 */
export class ActionWatch {
  readonly #fetch: (ids: readonly number[]) => Promise<readonly Action[]>;
  readonly #clock: Clock;
  readonly #watched = new Map<number, Watched>();
  readonly #usualMs = new Map<string, number>();
  #polling = false;

  constructor(fetch: (ids: readonly number[]) => Promise<readonly Action[]>, clock = SYSTEM_CLOCK) {
    this.#fetch = fetch;
    this.#clock = clock;
  }

  /** Resolves with the ended action, or with the running one after `limitMs`. */
  async settle(action: Action, limitMs: number): Promise<Action> {
    if (action.status !== "running") return action;
    const watched = this.#watch(action);
    const limit = new AbortController();
    watched.waiting += 1;
    try {
      const late = this.#clock.pause(limitMs, limit.signal).then(() => action);
      return await Promise.race([watched.done.promise, late]);
    } finally {
      limit.abort();
      watched.waiting -= 1;
      if (watched.waiting === 0) this.#watched.delete(action.id);
    }
  }

  /** A response with all its actions settled; a response without actions is returned unchanged. */
  async settleIn(response: ApiResponse, limitMs: number): Promise<ApiResponse> {
    if (response.status >= 300 || response.body === "") return response;
    const body = JSON.parse(response.body) as { action?: Action | null; actions?: Action[]; next_actions?: Action[] };
    const settle = (action: Action) => this.settle(action, limitMs);
    const [action, actions, next] = await Promise.all([
      body.action && settle(body.action),
      body.actions && Promise.all(body.actions.map(settle)),
      body.next_actions && Promise.all(body.next_actions.map(settle)),
    ]);
    const settled = {
      ...body,
      ...(action && { action }),
      ...(actions && { actions }),
      ...(next && { next_actions: next }),
    };
    return { ...response, body: JSON.stringify(settled) };
  }

  #watch({ id, command }: Action): Watched {
    let watched = this.#watched.get(id);
    if (!watched) {
      watched = { startedAt: this.#clock.now(), command, done: Promise.withResolvers<Action>(), polls: 0, waiting: 0 };
      this.#watched.set(id, watched);
    }
    if (!this.#polling) {
      this.#polling = true;
      void this.#poll();
    }
    return watched;
  }

  async #poll(): Promise<void> {
    while (this.#watched.size > 0) {
      const waitMs = nextPoll(
        [...this.#watched.values()].map((watched) => this.#expectedEnd(watched)),
        this.#clock.now(),
      );
      // A new action may need an earlier poll than the known ones, so no single pause is long.
      await this.#clock.pause(Math.min(waitMs, POLL_MS.between));
      if (waitMs > POLL_MS.between) continue;
      await this.#pollDue();
    }
    this.#polling = false;
  }

  async #pollDue(): Promise<void> {
    const due = [...this.#watched].sort(([, a], [, b]) => this.#expectedEnd(a) - this.#expectedEnd(b)).slice(0, BATCH);
    // A poll that came early for an action, because of others, says nothing about its duration. Timers fire slightly early.
    const now = this.#clock.now() + 1;
    for (const [, watched] of due) if (this.#expectedEnd(watched) <= now) watched.polls += 1;
    const actions = await this.#fetch(due.map(([id]) => id)).catch(() => []); // the next poll retries
    for (const action of actions) if (action.status !== "running") this.#end(action);
  }

  #end(action: Action): void {
    const watched = this.#watched.get(action.id);
    if (!watched) return;
    this.#watched.delete(action.id);
    this.#usualMs.set(watched.command, expectedMs(this.#clock.now() - watched.startedAt, watched.polls));
    watched.done.resolve(action);
  }

  /** When a poll is likely to find the action ended. Each unsuccessful poll moves it on. */
  #expectedEnd({ startedAt, command, polls }: Watched): number {
    const usual = this.#usualMs.get(command) ?? average(this.#usualMs.values()) ?? FIRST_GUESS_MS;
    return startedAt + usual + polls * POLL_MS.between;
  }
}

/** The response with its action marked as successful. The list of certificates shows how the action really ends. */
export function withEndedAction(response: ApiResponse): ApiResponse {
  if (response.status >= 300) return response;
  const body = JSON.parse(response.body) as { action?: Action | null };
  if (!body.action) return response;
  return {
    ...response,
    body: JSON.stringify({ ...body, action: { ...body.action, status: "success", progress: 100 } }),
  };
}

/** Milliseconds until the next poll: at the first expected end, or slightly later when others follow closely. */
export function nextPoll(expectedEnds: readonly number[], now: number): number {
  const [first = now, ...rest] = expectedEnds.toSorted((a, b) => a - b);
  let at = first;
  for (const end of rest) {
    if (end - at > TOGETHER_MS.gap || end - first > TOGETHER_MS.most) break;
    at = end;
  }
  return Math.min(Math.max(at - now, POLL_MS.least), POLL_MS.most);
}

/**
 * Expected duration of the next action, after one was found ended at its nth poll. It had ended before that poll: if it was the
 * first, the next one may come earlier; otherwise the action ended between the last two polls.
 */
function expectedMs(seenMs: number, polls: number): number {
  return polls <= 1 ? seenMs * 0.9 : seenMs - POLL_MS.between / 2;
}

function average(values: Iterable<number>): number | undefined {
  const all = [...values];
  return all.length > 0 ? all.reduce((sum, value) => sum + value, 0) / all.length : undefined;
}
