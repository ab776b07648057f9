/** Running actions, all watched with one batched request at a time, whoever waits for them. */
import { setTimeout } from "node:timers/promises";

/** An action as the API shows it; fields we do not read are passed on as they are. */
export interface Action {
  readonly id: number;
  readonly command: string;
  readonly status: "running" | "success" | "error";
}

/** Action ids in one request; the API pages beyond. */
const BATCH = 25;

interface Watched {
  readonly startedAt: number;
  readonly command: string;
  readonly done: PromiseWithResolvers<Action>;
}

/**
 * Tells when actions end. How long actions of a kind take is learnt, so that the first look comes when it is likely to
 * be worth the request.
 */
export class ActionWatch {
  readonly #fetch: (ids: readonly number[]) => Promise<readonly Action[]>;
  readonly #watched = new Map<number, Watched>();
  readonly #usualMs = new Map<string, number>();
  #polling = false;

  constructor(fetch: (ids: readonly number[]) => Promise<readonly Action[]>) {
    this.#fetch = fetch;
  }

  /** The action when it has ended, or as last seen when it runs longer than `limitMs`. */
  async settle(action: Action, limitMs: number): Promise<Action> {
    if (action.status !== "running") return action;
    const watched = this.#watch(action);
    const limit = new AbortController();
    try {
      const late = setTimeout(limitMs, action, { signal: limit.signal, ref: false });
      return await Promise.race([watched.done.promise, late]);
    } finally {
      limit.abort();
    }
  }

  #watch(action: Action): Watched {
    let watched = this.#watched.get(action.id);
    if (!watched) {
      watched = { startedAt: performance.now(), command: action.command, done: Promise.withResolvers<Action>() };
      this.#watched.set(action.id, watched);
    }
    if (!this.#polling) {
      this.#polling = true;
      void this.#poll();
    }
    return watched;
  }

  async #poll(): Promise<void> {
    while (this.#watched.size > 0) {
      await setTimeout(this.#nextLookMs());
      const due = [...this.#watched.keys()].slice(0, BATCH);
      const actions = await this.#fetch(due).catch(() => []); // the next look asks again
      for (const action of actions) if (action.status !== "running") this.#end(action);
    }
    this.#polling = false;
  }

  #end(action: Action): void {
    const watched = this.#watched.get(action.id);
    if (!watched) return;
    this.#watched.delete(action.id);
    const tookMs = performance.now() - watched.startedAt;
    const usual = this.#usualMs.get(watched.command) ?? tookMs;
    this.#usualMs.set(watched.command, Math.min(tookMs, usual * 0.7 + tookMs * 0.3));
    watched.done.resolve(action);
  }

  /** Until the next action is likely to have ended, within bounds that suit a quick cloud and a slow one. */
  #nextLookMs(): number {
    const now = performance.now();
    const waits = [...this.#watched.values()].map(({ startedAt, command }) => {
      const usual = this.#usualMs.get(command) ?? 250;
      return startedAt + usual * 0.95 - now;
    });
    return Math.min(Math.max(Math.min(...waits), 100), 1_000);
  }
}
