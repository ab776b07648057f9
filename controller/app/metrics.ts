/** Records metrics, named as in HCCM and the Kubernetes framework where they have them. Labels never contain names of users' objects. */
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { RunReport } from "../../stacks/engine/run.ts";
import { kindOf } from "../../stacks/units/names.ts";
import type { Exchange } from "../hcloud/sender.ts";
import type { KubeExchange } from "../kube/client.ts";
import type { Notice } from "../publish/writes.ts";
import type { TurnFacts } from "../turns/cluster.ts";
import type { LoopObserver } from "../work/loop.ts";
import { defineMetrics, SCRAPED, type Scraped } from "./metric-definitions.ts";

/** Values that are read at the time of a scrape. */
export interface Readings {
  readonly lease: string;
  readonly isLeader: () => boolean;
  /** Names of the enabled controllers, as in the Kubernetes framework. */
  readonly controllers: readonly string[];
  /** Seconds since the API server last sent anything, by watch. */
  readonly watchAges: () => Readonly<Record<string, number>>;
  /** Seconds that the current turns have been running, by loop. */
  readonly runningTurns: () => Readonly<Record<string, number>>;
}

/** Interval at which the lag of the event loop is sampled. The default of 10 ms takes more CPU time than all work at rest. */
const LAG_SAMPLE_MS = 200;

export class Metrics implements LoopObserver {
  readonly registry = new Registry();
  readonly #metrics = defineMetrics(this.registry);

  constructor(version: string) {
    this.#onScrape(SCRAPED.build, () => ({ [version]: 1 }));
    collectDefaultMetrics({ register: this.registry, eventLoopMonitoringPrecision: LAG_SAMPLE_MS });
  }

  /** Registers the metrics that are read at the time of a scrape. */
  observe({ lease, isLeader, controllers, watchAges, runningTurns }: Readings): void {
    const leading = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, isLeader() ? 1 : 0]));
    this.#onScrape(SCRAPED.leader, () => leading([lease]));
    this.#onScrape(SCRAPED.controllers, () => leading(controllers));
    this.#onScrape(SCRAPED.watchAge, watchAges);
    this.#onScrape(SCRAPED.unfinished, runningTurns);
    this.#onScrape(SCRAPED.longest, runningTurns);
  }

  apiExchange({ method, endpoint, status, durationMs }: Exchange): void {
    this.#metrics.apiRequests.inc({ code: status || "error", method: method.toLowerCase(), api_endpoint: endpoint });
    this.#metrics.apiDuration.observe({ method: method.toLowerCase() }, durationMs / 1000);
  }

  apiInFlight(change: 1 | -1): void {
    this.#metrics.apiInFlight.inc(change);
  }

  /** Reads the rate limit from the headers of a response. */
  apiBudget(headers: Readonly<Record<string, string>>): void {
    const [remaining, limit] = [headers["ratelimit-remaining"], headers["ratelimit-limit"]].map(Number);
    if (remaining !== undefined && Number.isFinite(remaining)) this.#metrics.budget.set(remaining);
    if (limit !== undefined && Number.isFinite(limit)) this.#metrics.budgetLimit.set(limit);
  }

  kubeExchange({ method, host, status, durationMs }: KubeExchange): void {
    this.#metrics.kubeRequests.inc({ code: status || "<error>", method, host });
    this.#metrics.kubeDuration.observe({ verb: method, host }, durationMs / 1000);
  }

  asked(name: string): void {
    this.#metrics.adds.inc({ name });
    this.#metrics.depth.set({ name }, 1);
  }

  started(name: string, waitedMs: number): void {
    this.#metrics.depth.set({ name }, 0);
    this.#metrics.waited.observe({ name }, waitedMs / 1000);
  }

  ended(name: string, durationMs: number, isFine: boolean): void {
    this.#metrics.worked.observe({ name }, durationMs / 1000);
    this.#metrics.turns.inc({ loop: name, result: isFine ? "done" : "failed" });
    if (!isFine) this.#metrics.retries.inc({ name });
  }

  turn({ planned, drifted, held, waiting, hasRoutes }: TurnFacts): void {
    this.#metrics.planned.set(planned);
    this.#metrics.held.set(held);
    this.#metrics.waiting.set(waiting);
    for (const unit of drifted) this.#metrics.drift.inc({ kind: kindOf(unit) });
    if (hasRoutes) this.#metrics.routeSyncs.inc();
  }

  run({ outcomes, durationMs }: RunReport): void {
    const isFine = Object.values(outcomes).every(({ status }) => status === "applied");
    this.#metrics.runs.inc({ result: isFine ? "applied" : "failed" });
    this.#metrics.runDuration.observe(durationMs / 1000);
    this.units(outcomes);
    if (!Object.keys(outcomes).some((unit) => kindOf(unit) === "load-balancer")) return;
    this.#metrics.nodeSync.observe(durationMs / 1000);
    this.#metrics.hostUpdates.observe(durationMs / 1000);
  }

  /** Counts units of a run by how they ended. */
  units(outcomes: RunReport["outcomes"]): void {
    for (const [unit, outcome] of Object.entries(outcomes)) {
      const code = outcome.status === "failed" ? outcome.failure.code : "";
      this.#metrics.units.inc({ kind: kindOf(unit), outcome: outcome.status, code });
      if (kindOf(unit) !== "load-balancer") continue;
      (code === "" ? this.#metrics.balancerSyncs : this.#metrics.nodeSyncErrors).inc();
    }
  }

  workerStarted(): void {
    this.#metrics.workers.inc();
  }

  event({ about, type, reason }: Notice): void {
    this.#metrics.events.inc({ type, reason });
    const op = OPERATIONS[reason];
    if (op) this.#metrics.operations.inc({ op });
    const created = about.object.metadata?.creationTimestamp;
    if (reason !== "Synced" || created === undefined) return;
    const seconds = Math.max(0, (Date.now() - new Date(created).getTime()) / 1000);
    this.#metrics.taintDelay.observe(seconds);
    this.#metrics.nodeDelay.observe(seconds);
  }

  /** A gauge with one value per value of its label. */
  #onScrape({ name, help, label, fixed = {} }: Scraped, read: () => Readonly<Record<string, number>>): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: [label, ...Object.keys(fixed)],
      registers: [this.registry],
      collect: () => {
        gauge.reset();
        for (const [key, value] of Object.entries(read())) gauge.set({ [label]: key, ...fixed }, value);
      },
    });
  }
}

/** HCCM's operation that each Event completes. */
const OPERATIONS: Readonly<Record<string, string>> = {
  EnsuredLoadBalancer: "hcloud/loadBalancers.EnsureLoadBalancer",
  DeletedLoadBalancer: "hcloud/loadBalancers.EnsureLoadBalancerDeleted",
  Synced: "hcloud/instancesv2.InstanceMetadata",
  DeletingNode: "hcloud/instancesv2.InstanceExists",
};
