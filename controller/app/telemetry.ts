/** How the controller is doing: what its edges report, as metrics and as answers to health checks. */
import packageJson from "../../package.json" with { type: "json" };
import type { RunReport } from "../../stacks/engine/run.ts";
import type { Config } from "../config/config.ts";
import type { Exchange } from "../hcloud/sender.ts";
import type { Leadership } from "../kube/lease.ts";
import type { KubeObserver } from "../kube/observer.ts";
import { type Check, type Checks, CloudContact } from "../serve/health.ts";
import type { Loops } from "../work/loops.ts";
import type { CloudPorts } from "./assemble-cloud.ts";
import { Metrics } from "./metrics.ts";

/** What is looked at when somebody asks. */
export interface Watched {
  readonly observer: Pick<KubeObserver, "staleness" | "agesMs">;
  readonly leadership: Pick<Leadership, "isHeld">;
  readonly loops: Pick<Loops<string>, "runningMs">;
}

/** A turn that takes this many times as long as a run may is stuck: only a restart helps. */
const STUCK_RUNS = 3;

export class Telemetry {
  readonly metrics = new Metrics(packageJson.version);
  readonly #config: Config;
  readonly #cloud = new CloudContact();
  #isStopping = false;
  /** Why the engine could not do its work when it was last asked. */
  #engineFailure: string | undefined;

  constructor(config: Config) {
    this.#config = config;
  }

  /** What the way out to the cloud reports to; `also` hears of every request too. */
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

  /** Takes in how a run of the engine ended. */
  noteRun(report: RunReport): void {
    this.metrics.run(report);
    this.#engineFailure = failureOf(report);
  }

  stopping(): void {
    this.#isStopping = true;
  }

  /** The endpoints and their checks. Alive is what a restart would not improve; ready, what does its work or could. */
  checks({ observer, leadership, loops }: Watched): Checks {
    const { config, metrics } = { config: this.#config, metrics: this.metrics };
    metrics.observe({
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

/** A run in which nothing worked because there was no engine to work with. */
function failureOf({ outcomes }: RunReport): string | undefined {
  const all = Object.values(outcomes);
  const isDown =
    all.length > 0 && all.every((outcome) => outcome.status === "failed" && outcome.failure.code === "engine");
  return isDown ? "the engine failed to start" : undefined;
}

/** What the framework calls the parts that run here. */
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
