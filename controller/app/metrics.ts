/**
 * What is counted and measured, under the names of the official controller and the framework where they have one. Recorded at
 * edges only; labels are outcomes and kinds, never names of users' objects.
 */
import { collectDefaultMetrics, Gauge, Registry } from "prom-client";
import type { RunReport } from "../../stacks/engine/run.ts";
import type { Exchange } from "../hcloud/sender.ts";
import type { KubeExchange } from "../kube/client.ts";
import type { Notice } from "../publish/writes.ts";
import type { LoopObserver } from "../work/loop.ts";
import { defineMetrics } from "./metric-definitions.ts";

/** What can only be looked up when somebody asks for the metrics. */
export interface Readings {
  readonly lease: string;
  readonly isLeader: () => boolean;
  /** The framework's names of what runs here. */
  readonly controllers: readonly string[];
  /** Seconds since the API server was last heard of, by watch. */
  readonly watchAges: () => Readonly<Record<string, number>>;
  /** Seconds that the turns under way have taken so far, by loop. */
  readonly runningTurns: () => Readonly<Record<string, number>>;
}

export class Metrics implements LoopObserver {
  readonly registry = new Registry();
  readonly #metrics = defineMetrics(this.registry);

  constructor(version: string) {
    this.#lookup("lotse_build_info", "1, labelled with the running version.", ["version"], (set) =>
      set({ version }, 1),
    );
    collectDefaultMetrics({ register: this.registry });
  }

  /** Metrics that are looked up when they are asked for. */
  observe({ lease, isLeader, controllers, watchAges, runningTurns }: Readings): void {
    this.#lookup("leader_election_master_status", "1 while this replica is the leader, otherwise 0.", ["name"], (set) =>
      set({ name: lease }, isLeader() ? 1 : 0),
    );
    this.#lookup(
      "running_managed_controllers",
      "1 for each controller that runs in this replica.",
      ["name", "manager"],
      (set) => {
        for (const name of controllers) set({ name, manager: "cloud-controller-manager" }, isLeader() ? 1 : 0);
      },
    );
    this.#lookup(
      "lotse_watch_age_seconds",
      "Time since the API server last sent anything on a watch.",
      ["kind"],
      (set) => {
        for (const [kind, seconds] of Object.entries(watchAges())) set({ kind }, seconds);
      },
    );
    // A loop runs one turn at a time, so both are the same.
    for (const metric of ["workqueue_unfinished_work_seconds", "workqueue_longest_running_processor_seconds"])
      this.#lookup(metric, "How long the current turn has been running.", ["name"], (set) => {
        for (const [name, seconds] of Object.entries(runningTurns())) set({ name }, seconds);
      });
  }

  apiExchange({ method, endpoint, status, durationMs }: Exchange): void {
    this.#metrics.apiRequests.inc({ code: status || "error", method: method.toLowerCase(), api_endpoint: endpoint });
    this.#metrics.apiDuration.observe({ method: method.toLowerCase() }, durationMs / 1000);
  }

  apiInFlight(change: 1 | -1): void {
    this.#metrics.apiInFlight.inc(change);
  }

  /** Takes the budget from the headers of an answer. */
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

  /** One look at the cluster: what is not as wanted, what was changed outside, what is held back or waits. */
  turn(facts: {
    readonly planned: number;
    readonly drifted: readonly string[];
    readonly held: number;
    readonly waiting: number;
    readonly hasRoutes: boolean;
  }): void {
    this.#metrics.planned.set(facts.planned);
    this.#metrics.held.set(facts.held);
    this.#metrics.waiting.set(facts.waiting);
    for (const unit of facts.drifted) this.#metrics.drift.inc({ kind: kindOf(unit) });
    if (facts.hasRoutes) this.#metrics.routeSyncs.inc();
  }

  run({ outcomes, durationMs }: RunReport): void {
    const units = Object.entries(outcomes);
    const isFine = units.every(([, { status }]) => status === "applied");
    this.#metrics.runs.inc({ result: isFine ? "applied" : "failed" });
    this.#metrics.runDuration.observe(durationMs / 1000);
    for (const [unit, outcome] of units) {
      const code = outcome.status === "failed" ? outcome.failure.code : "";
      this.#metrics.units.inc({ kind: kindOf(unit), outcome: outcome.status, code });
      if (kindOf(unit) !== "load-balancer") continue;
      (code === "" ? this.#metrics.balancerSyncs : this.#metrics.nodeSyncErrors).inc();
    }
    if (!units.some(([unit]) => kindOf(unit) === "load-balancer")) return;
    this.#metrics.nodeSync.observe(durationMs / 1000);
    this.#metrics.hostUpdates.observe(durationMs / 1000);
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

  #lookup(
    name: string,
    help: string,
    labelNames: readonly string[],
    fill: (set: (labels: Record<string, string>, value: number) => void) => void,
  ): void {
    const gauge: Gauge = new Gauge({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.registry],
      collect: () => {
        gauge.reset();
        fill((labels, value) => gauge.set(labels, value));
      },
    });
  }
}

/** Events that say that an operation of the official controller was carried out. */
const OPERATIONS: Readonly<Record<string, string>> = {
  EnsuredLoadBalancer: "hcloud/loadBalancers.EnsureLoadBalancer",
  DeletedLoadBalancer: "hcloud/loadBalancers.EnsureLoadBalancerDeleted",
  Synced: "hcloud/instancesv2.InstanceMetadata",
  DeletingNode: "hcloud/instancesv2.InstanceExists",
};

/** `load-balancer`, `route` or `certificate`. */
function kindOf(unit: string): string {
  return unit.split("/", 1)[0] ?? "";
}
