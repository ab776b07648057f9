/** Selects a backend for each connection. */
import type { Backend, ListenerPlan } from "./plan.ts";

/** Selects healthy backends of one listener, by round robin or least connections. */
export class Pool {
  /** The current plan of the socket. Open connections are kept when it changes. */
  plan: ListenerPlan;
  readonly #isHealthy: (plan: ListenerPlan, backend: Backend) => boolean;
  readonly #open = new Map<Backend["target"], number>();
  #next = 0;

  constructor(plan: ListenerPlan, isHealthy: (plan: ListenerPlan, backend: Backend) => boolean) {
    this.plan = plan;
    this.#isHealthy = isHealthy;
  }

  /** The next backend, except those already tried; undefined if none is healthy. */
  pick(tried: ReadonlySet<Backend["target"]> = new Set()): Backend | undefined {
    const candidates = this.plan.backends.filter(
      (backend) => backend.host !== undefined && !tried.has(backend.target) && this.#isHealthy(this.plan, backend),
    );
    if (candidates.length === 0) return undefined;
    const start = this.#next++ % candidates.length;
    const ordered = [...candidates.slice(start), ...candidates.slice(0, start)];
    if (this.plan.algorithm === "round_robin") return ordered[0];
    return ordered.reduce((best, backend) => (this.#load(backend) < this.#load(best) ? backend : best));
  }

  /** The first healthy backend whose target matches, for sticky sessions. */
  find(matches: (target: Backend["target"]) => boolean): Backend | undefined {
    return this.plan.backends.find(
      (backend) => backend.host !== undefined && matches(backend.target) && this.#isHealthy(this.plan, backend),
    );
  }

  /** Counts a connection as open until the returned function is called. */
  occupy({ target }: Backend): () => void {
    this.#open.set(target, (this.#open.get(target) ?? 0) + 1);
    let isOpen = true;
    return () => {
      if (isOpen) this.#open.set(target, (this.#open.get(target) ?? 1) - 1);
      isOpen = false;
    };
  }

  #load({ target }: Backend): number {
    return this.#open.get(target) ?? 0;
  }
}
