/** Metrics and health checks, from what the edges report. */
import type { RunReport } from "../../stacks/engine/run.ts";
import type { Config } from "../config/config.ts";
import { programVersion } from "../diagnostics/version.ts";
import type { Exchange } from "../hcloud/sender.ts";
import type { Leadership } from "../kube/lease.ts";
import type { KubeObserver } from "../observe/watches.ts";
import { type Check, type Checks, CloudContact } from "../serve/health.ts";
import type { TurnFacts } from "../turns/cluster.ts";
import type { Loops } from "../work/loop.ts";
import type { CloudPorts } from "./assemble-cloud.ts";
import { Metrics } from "./metrics.ts";

/** Read at the time of a health check or a scrape. */
export interface Watched {
  readonly observer: Pick<KubeObserver, "staleness" | "agesMs">;
  readonly leadership: Pick<Leadership, "isHeld">;
  readonly loops: Pick<Loops<string>, "runningMs">;
}

/** A turn longer than this many run deadlines is stuck, and only a restart helps. */
const STUCK_RUNS = 3;

export class Telemetry {
  readonly metrics = new Metrics(programVersion());
  readonly #config: Config;
  readonly #cloud = new CloudContact();
  #isStopping = false;
  /** Why the engine could not do anything in the last run. */
  #engineFailure: string | undefined;

  constructor(config: Config) {
    this.#config = config;
  }

  /** Observers for the gateway. `also` is called for every request, too. */
  cloudPorts(also: (exchange: Exchange) => void): CloudPorts {
    return {
      onExchange: (exchange) => {
        also(exchange);
        this.metrics.apiExchange(exchange);
        this.#cloud.note(exchange);
      },
      onAnswer: ({ headers }) => this.metrics.apiBudget(headers),
      inFlight: (change) => this.metrics.apiInFlight(change),
    };
  }

  /** Called after every run of the engine, and later (`isLate`) with units that outlasted it. */
  noteRun(report: RunReport, isLate = false): void {
    if (isLate) {
      this.metrics.units(report.outcomes);
      return;
    }
    this.metrics.run(report);
    this.#engineFailure = failureOf(report);
  }

  /** Called in every turn. Where nothing is left to do, or all of it waits, the engine's last failure no longer matters. */
  noteTurn(facts: TurnFacts): void {
    this.metrics.turn(facts);
    if (facts.planned === facts.waiting) this.#engineFailure = undefined;
  }

  stopping(): void {
    this.#isStopping = true;
  }

  /** Checks by endpoint. Liveness fails only where a restart would help; readiness whenever the controller cannot do its work. */
  checks({ observer, leadership, loops }: Watched): Checks {
    const config = this.#config;
    this.metrics.observe({
      lease: config.lease?.name ?? "",
      isLeader: () => leadership.isHeld,
      controllers: controllersOf(config),
      watchAges: () => inSeconds(observer.agesMs()),
      runningTurns: () => inSeconds(loops.runningMs),
    });
    const stuckMs = STUCK_RUNS * config.runDeadlineMs + 60_000;
    const stuck = () => Object.entries(loops.runningMs).find(([, ms]) => ms > stuckMs)?.[0];
    const live: readonly Check[] = [
      { name: "ping", look: () => undefined },
      { name: "loops", look: () => (stuck() === undefined ? undefined : `the ${stuck()} loop is stuck in a turn`) },
    ];
    const ready: readonly Check[] = [
      ...live,
      { name: "shutdown", look: () => (this.#isStopping ? "shutting down" : undefined) },
      { name: "caches", look: () => observer.staleness() },
      { name: "cloud", look: this.#cloud.look },
      { name: "engine", look: () => this.#engineFailure },
    ];
    return { healthz: live, livez: live, readyz: ready };
  }
}

/** Set when every unit failed because the engine did not start. */
function failureOf({ outcomes }: RunReport): string | undefined {
  const all = Object.values(outcomes);
  const isDown =
    all.length > 0 && all.every((outcome) => outcome.status === "failed" && outcome.failure.code === "engine");
  return isDown ? "the engine failed to start" : undefined;
}

/** Names of the enabled controllers, as in the Kubernetes framework. */
function controllersOf({ nodes, lifecycle, loadBalancers, clusterCidrs }: Config): readonly string[] {
  return [
    ...(nodes ? ["cloud-node"] : []),
    ...(lifecycle ? ["cloud-node-lifecycle"] : []),
    ...(loadBalancers ? ["service"] : []),
    ...(clusterCidrs.length > 0 ? ["route"] : []),
  ];
}

function inSeconds(times: Readonly<Record<string, number>>): Record<string, number> {
  return Object.fromEntries(Object.entries(times).map(([name, ms]) => [name, ms / 1000]));
}
