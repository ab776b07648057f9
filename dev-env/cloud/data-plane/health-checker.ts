/** Runs the health checks of all targets. */
import type { HealthBook, HealthState, Probe } from "../state/health.ts";
import type { Backend, ListenerPlan } from "./plan.ts";
import { probe } from "./probe.ts";

/** The health of a target of a listener. `streak` counts consecutive results that differ from `state`. */
export interface Opinion {
  readonly state: HealthState;
  readonly streak: number;
}

/** The health after another check. The first check counts at once; a change takes `retries` consecutive results. */
export function nextOpinion({ state, streak }: Opinion, seen: HealthState, retries: number): Opinion {
  if (state.status === "unknown" || state.status === seen.status) return { state: seen, streak: 0 };
  return streak + 1 >= retries ? { state: seen, streak: 0 } : { state, streak: streak + 1 };
}

interface Watch {
  plan: ListenerPlan;
  backend: Backend;
  opinion: Opinion;
  timer: NodeJS.Timeout | undefined;
  isBusy: boolean;
}

/** A lower limit for scaled timeouts, so that a busy machine does not make targets unhealthy. */
const MIN_TIMEOUT_MS = 1000;
const UNKNOWN: Opinion = { state: { status: "unknown" }, streak: 0 };

/** Checks every target of every listener at its interval, and records the results. */
export class HealthChecker {
  readonly #book: HealthBook;
  readonly #timeScale: number;
  readonly #watches = new Map<string, Watch>();

  /** `timeScale` shortens intervals and timeouts: 0.01 turns 15 s into 150 ms. */
  constructor(book: HealthBook, timeScale: number) {
    this.#book = book;
    this.#timeScale = timeScale;
  }

  /** Starts and stops checks until they match the targets of these listeners. */
  sync(plans: readonly ListenerPlan[]): void {
    const wanted = new Set<string>();
    for (const plan of plans) {
      for (const backend of plan.backends) wanted.add(this.#ensure(plan, backend));
    }
    for (const [key, watch] of this.#watches) {
      if (!wanted.has(key)) this.#drop(key, watch);
    }
  }

  /** Whether every target has been checked. */
  get hasCheckedAll(): boolean {
    return [...this.#watches.values()].every(({ opinion }) => opinion.state.status !== "unknown");
  }

  stop(): void {
    for (const [key, watch] of this.#watches) this.#drop(key, watch);
  }

  #ensure(plan: ListenerPlan, backend: Backend): string {
    const key = `${plan.key}/${backend.target}`;
    const known = this.#watches.get(key);
    if (known) {
      const isMoved = known.backend.host !== backend.host;
      Object.assign(known, { plan, backend });
      if (isMoved) this.#check(key, known);
      return key;
    }
    const watch: Watch = { plan, backend, opinion: UNKNOWN, timer: undefined, isBusy: false };
    this.#watches.set(key, watch);
    this.#book.record(probeOf(watch), UNKNOWN.state);
    this.#check(key, watch);
    return key;
  }

  #drop(key: string, watch: Watch): void {
    clearTimeout(watch.timer);
    this.#watches.delete(key);
    this.#book.forget(probeOf(watch));
  }

  #check(key: string, watch: Watch): void {
    clearTimeout(watch.timer);
    if (watch.isBusy) return;
    watch.isBusy = true;
    const { service } = watch.plan;
    const check = service.health_check;
    const checked = this.#probe(watch);
    void checked.then((state) => {
      watch.isBusy = false;
      if (this.#watches.get(key) !== watch) return;
      watch.opinion = nextOpinion(watch.opinion, state, check.retries);
      this.#book.record(probeOf(watch), watch.opinion.state);
      watch.timer = setTimeout(() => this.#check(key, watch), check.interval * 1000 * this.#timeScale).unref();
    });
  }

  async #probe({ plan, backend }: Watch): Promise<HealthState> {
    const check = plan.service.health_check;
    if (backend.host === undefined) return { status: "unhealthy", detail: "layer4_no_connection" };
    const timeoutMs = Math.max(MIN_TIMEOUT_MS, check.timeout * 1000 * this.#timeScale);
    const { host, localAddress } = backend;
    return probe({ host, localAddress, check, timeoutMs, proxyProtocol: plan.service.proxyprotocol });
  }
}

function probeOf({ plan, backend }: Watch): Probe {
  return { loadBalancer: plan.loadBalancer, listenPort: plan.service.listen_port, target: backend.target };
}
