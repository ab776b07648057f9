/** Running actions, all watched with one batched request at a time, whoever waits for them. */
import { type Clock, SYSTEM_CLOCK } from "../work/clock.ts";
import type { ApiResponse } from "./exchange.ts";

/** An action as the API shows it; fields we do not read are passed on as they are. */
export interface Action {
  readonly id: number;
  readonly command: string;
  readonly status: "running" | "success" | "error";
}

/** Action ids in one request; the API pages beyond. */
const BATCH = 25;
/** How long an action is expected to take before anything is known. */
const FIRST_GUESS_MS = 300;
const LOOK_MS = { least: 100, between: 250, most: 2_000 };
/** Actions that end this close together are looked at together, as long as nobody waits longer than the second figure. */
const TOGETHER_MS = { gap: 100, most: 500 };

interface Watched {
  readonly startedAt: number;
  readonly command: string;
  readonly done: PromiseWithResolvers<Action>;
  looks: number;
  /** Who waits for it; nobody is asked about an action that nobody waits for. */
  waiting: number;
}

/**
 * Tells when actions end. How long actions of a kind take is learnt, so that a look comes when it is likely to be worth
 * its request: calls are what the project's other clients lose.
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

  /** The action when it has ended, or as last seen when it runs longer than `limitMs`. */
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

  /** An answer with all actions in it settled; others are returned as they are. */
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
      watched = { startedAt: this.#clock.now(), command, done: Promise.withResolvers<Action>(), looks: 0, waiting: 0 };
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
      const waitMs = nextLook(
        [...this.#watched.values()].map((watched) => this.#expectedEnd(watched)),
        this.#clock.now(),
      );
      // New actions may want an earlier look than the ones known now: no sleep is longer than the least useful one.
      await this.#clock.pause(Math.min(waitMs, LOOK_MS.between));
      if (waitMs > LOOK_MS.between) continue;
      await this.#look();
    }
    this.#polling = false;
  }

  async #look(): Promise<void> {
    const due = [...this.#watched].sort(([, a], [, b]) => this.#expectedEnd(a) - this.#expectedEnd(b)).slice(0, BATCH);
    // A look that came early for an action, on account of others, says nothing about how long it takes. Timers fire a moment early.
    const now = this.#clock.now() + 1;
    for (const [, watched] of due) if (this.#expectedEnd(watched) <= now) watched.looks += 1;
    const actions = await this.#fetch(due.map(([id]) => id)).catch(() => []); // the next look asks again
    for (const action of actions) if (action.status !== "running") this.#end(action);
  }

  #end(action: Action): void {
    const watched = this.#watched.get(action.id);
    if (!watched) return;
    this.#watched.delete(action.id);
    this.#usualMs.set(watched.command, learnt(this.#clock.now() - watched.startedAt, watched.looks));
    watched.done.resolve(action);
  }

  /** When a look is likely to find an action ended; each vain one moves it on. */
  #expectedEnd({ startedAt, command, looks }: Watched): number {
    const usual = this.#usualMs.get(command) ?? average(this.#usualMs.values()) ?? FIRST_GUESS_MS;
    return startedAt + usual + looks * LOOK_MS.between;
  }
}

/** Milliseconds until the next look: at the first expected end, or a little later when others follow close behind. */
export function nextLook(expectedEnds: readonly number[], now: number): number {
  const [first = now, ...rest] = expectedEnds.toSorted((a, b) => a - b);
  let at = first;
  for (const end of rest) {
    if (end - at > TOGETHER_MS.gap || end - first > TOGETHER_MS.most) break;
    at = end;
  }
  return Math.min(Math.max(at - now, LOOK_MS.least), LOOK_MS.most);
}

/**
 * What to expect of the next action after one that was seen ended at its nth look. It had ended some time before that
 * look: found at the first one, the next may come earlier; else it ended between the last two.
 */
function learnt(seenMs: number, looks: number): number {
  return looks <= 1 ? seenMs * 0.9 : seenMs - LOOK_MS.between / 2;
}

function average(values: Iterable<number>): number | undefined {
  const all = [...values];
  return all.length > 0 ? all.reduce((sum, value) => sum + value, 0) / all.length : undefined;
}
