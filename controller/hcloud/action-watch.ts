/** Waits for running actions, all with one batched request at a time. */
import { defined } from "../../stacks/units/defined.ts";
import { aborted, type Clock, SYSTEM_CLOCK } from "../work/clock.ts";
import type { ApiError, ApiResponse } from "./exchange.ts";

/** An action of the API. Fields not listed here are passed on unchanged. */
export interface Action {
  readonly id: number;
  readonly command: string;
  readonly status: "running" | "success" | "error";
  readonly error?: ApiError | null;
}

/** Action ids per request; more would need a second page. */
const BATCH = 25;
/** Expected duration of an action before any has been observed. */
const FIRST_GUESS_MS = 300;
/** Time between two polls: `between` for the first few, then twice as long each time, up to `most`. */
const POLL_MS = { least: 100, between: 250, most: 2_000 };
const FREQUENT_POLLS = 6;
/** One slow action raises the expectation for the next ones by this factor at most. */
const SLOWER = 1.25;
/** An action is slow when it takes longer than this, and than this many times the usual duration. */
const SLOW = { leastMs: 1_000, factor: 1.5 };
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

/** How long an action is awaited. */
interface Limits {
  readonly mostMs: number;
  readonly followMs: number;
  /** Fires when others wait. */
  readonly hurry: AbortSignal | undefined;
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
  readonly #stop = new AbortController();
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
      const late = this.#clock.pause(limitMs, AbortSignal.any([limit.signal, this.#stop.signal])).then(() => action);
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
    const settled = { ...body, ...defined({ action, actions, next_actions: next }) };
    return { ...response, body: JSON.stringify(settled) };
  }

  /**
   * The response with its action settled, or undefined when the action takes too long: `mostMs`, or longer than usual while
   * `hurry` has fired. `ended` then resolves when it has ended after all, or after `followMs`, with an error unless it has
   * succeeded.
   */
  async settleUnlessSlow(response: ApiResponse, { command }: Action, limits: Limits) {
    const whole = this.settleIn(response, limits.followMs);
    const slowMs = Math.max(SLOW.leastMs, SLOW.factor * this.#usual(command));
    const waiting = new AbortController();
    const hurried = aborted(AbortSignal.any([limits.hurry ?? waiting.signal, waiting.signal]));
    const slow = Promise.all([this.#clock.pause(slowMs, waiting.signal), hurried]);
    const late = this.#clock.pause(limits.mostMs, waiting.signal);
    try {
      const settled = await Promise.race([whole, slow.then(() => undefined), late.then(() => undefined)]);
      return { settled, ended: whole.then(actionErrorIn) };
    } finally {
      waiting.abort();
    }
  }

  /** Stops waiting: every action counts as running. */
  stop(): void {
    this.#stop.abort();
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
    const polledAt = this.#clock.now();
    for (const [, watched] of due) if (this.#expectedEnd(watched) <= polledAt + 1) watched.polls += 1;
    const actions = await this.#fetch(due.map(([id]) => id)).catch(() => []); // the next poll retries
    for (const action of actions) if (action.status !== "running") this.#end(action, polledAt);
  }

  /** The action had ended when it was polled, not only when the response arrived. */
  #end(action: Action, polledAt: number): void {
    const watched = this.#watched.get(action.id);
    if (!watched) return;
    this.#watched.delete(action.id);
    const usual = this.#usualMs.get(watched.command);
    const expected = expectedMs(polledAt - watched.startedAt, watched.polls);
    this.#usualMs.set(watched.command, Math.min(expected, usual === undefined ? POLL_MS.most : usual * SLOWER));
    watched.done.resolve(action);
  }

  /** When a poll is likely to find the action ended. Each unsuccessful poll moves it on. */
  #expectedEnd({ startedAt, command, polls }: Watched): number {
    return startedAt + Math.min(this.#usual(command), POLL_MS.most) + waitedMs(polls);
  }

  #usual(command: string): number {
    return this.#usualMs.get(command) ?? average(this.#usualMs.values()) ?? FIRST_GUESS_MS;
  }
}

/** The response with its action marked as successful. The list of certificates shows how the action really ends. */
export function withEndedAction(response: ApiResponse): ApiResponse {
  return withAction(response, { status: "success", progress: 100 });
}

/** The response with its action marked as failed, for a run that stops waiting for it. */
export function withFailedAction(response: ApiResponse): ApiResponse {
  const error = { code: "under_way", message: "the action is slow; the run ends without it" };
  return withAction(response, { status: "error", error });
}

function withAction(response: ApiResponse, fields: object): ApiResponse {
  const action = actionIn(response);
  if (!action) return response;
  return { ...response, body: JSON.stringify({ ...JSON.parse(response.body), action: { ...action, ...fields } }) };
}

/** The action of a response, if it has one that is running. */
export function runningActionIn(response: ApiResponse): Action | undefined {
  const action = actionIn(response);
  return action?.status === "running" ? action : undefined;
}

/** Why a response's action has not succeeded. */
function actionErrorIn(response: ApiResponse): ApiError | undefined {
  const action = actionIn(response);
  if (!action || action.status === "success") return undefined;
  if (action.status === "running")
    return { code: "action_running", message: `the action ${action.command} has not ended yet` };
  return action.error ?? { code: "action_failed", message: `the action ${action.command} failed` };
}

function actionIn({ status, body }: ApiResponse): Action | undefined {
  if (status >= 300 || body === "") return undefined;
  return (JSON.parse(body) as { action?: Action | null }).action ?? undefined;
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

/** Time that unsuccessful polls have taken so far. */
function waitedMs(polls: number): number {
  let [sum, gap] = [0, POLL_MS.between];
  for (let poll = 1; poll <= polls; poll += 1) {
    sum += gap;
    if (poll >= FREQUENT_POLLS) gap = Math.min(gap * 2, POLL_MS.most);
  }
  return sum;
}

/**
 * Expected duration of the next action, after one was found ended at its nth poll. It had ended before that poll: if it was the
 * first, the next one may come earlier; otherwise the action ended between the last two polls.
 */
function expectedMs(seenMs: number, polls: number): number {
  return polls <= 1 ? seenMs * 0.9 : seenMs - (waitedMs(polls - 1) - waitedMs(polls - 2)) / 2;
}

function average(values: Iterable<number>): number | undefined {
  const all = [...values];
  return all.length > 0 ? all.reduce((sum, value) => sum + value, 0) / all.length : undefined;
}
