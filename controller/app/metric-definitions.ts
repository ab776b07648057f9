/** All metrics, by topic. docs/reference/metrics.md is generated from them. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const API_SECONDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const RUN_SECONDS = [0.5, 1, 2.5, 5, 10, 20, 40, 80, 160];
const NODE_SECONDS = [1, 4, 16, 64, 256, 1024];
const QUEUE_SECONDS = [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 60, 120];

function makers(registry: Registry) {
  const registers = [registry];
  return {
    counter: (name: string, help: string, labelNames: string[] = []) =>
      new Counter({ name, help, labelNames, registers }),
    gauge: (name: string, help: string, labelNames: string[] = []) => new Gauge({ name, help, labelNames, registers }),
    histogram: (name: string, help: string, buckets: number[], labelNames: string[] = []) =>
      new Histogram({ name, help, labelNames, buckets, registers }),
  };
}

/** Requests to the Hetzner API and to the API server. */
function apiMetrics({ counter, gauge, histogram }: ReturnType<typeof makers>) {
  const kubeLabels = ["code", "method", "host"];
  return {
    apiRequests: counter(
      "hcloud_api_requests_total",
      "Requests to the Hetzner API; IDs in the endpoint are replaced by -.",
      ["code", "method", "api_endpoint"],
    ),
    apiDuration: histogram(
      "hcloud_api_request_duration_seconds",
      "Time until the Hetzner API responded.",
      API_SECONDS,
      ["method"],
    ),
    apiInFlight: gauge("hcloud_api_in_flight_requests", "Requests to the Hetzner API in flight."),
    budget: gauge(
      "lotse_api_budget_remaining",
      "Requests left in the rate limit, as last reported by the Hetzner API.",
    ),
    budgetLimit: gauge(
      "lotse_api_budget_limit",
      "The project's rate limit in requests per hour, as last reported by the Hetzner API.",
    ),
    kubeRequests: counter("rest_client_requests_total", "Requests to the Kubernetes API server.", kubeLabels),
    kubeDuration: histogram(
      "rest_client_request_duration_seconds",
      "Time until the Kubernetes API server responded.",
      API_SECONDS,
      ["verb", "host"],
    ),
  };
}

/** Loops and their turns. */
function loopMetrics({ counter, gauge, histogram }: ReturnType<typeof makers>) {
  return {
    adds: counter("workqueue_adds_total", "Wake-ups of a loop.", ["name"]),
    depth: gauge("workqueue_depth", "1 between a loop's wake-up and the start of its turn, otherwise 0.", ["name"]),
    waited: histogram(
      "workqueue_queue_duration_seconds",
      "Time from a loop's wake-up to the start of its turn.",
      QUEUE_SECONDS,
      ["name"],
    ),
    worked: histogram("workqueue_work_duration_seconds", "Duration of a turn.", RUN_SECONDS, ["name"]),
    retries: counter("workqueue_retries_total", "Turns that failed and are retried.", ["name"]),
    turns: counter("lotse_turns_total", "Turns, by loop and result.", ["loop", "result"]),
  };
}

/** Runs of the engine and their units. */
function runMetrics({ counter, gauge, histogram }: ReturnType<typeof makers>) {
  return {
    runs: counter("lotse_runs_total", "Runs of the Pulumi engine; failed when at least one unit failed.", ["result"]),
    runDuration: histogram("lotse_run_duration_seconds", "Duration of a run of the Pulumi engine.", RUN_SECONDS),
    units: counter("lotse_units_total", "Units in runs, by outcome; code is the error code of a failure.", [
      "kind",
      "outcome",
      "code",
    ]),
    drift: counter("lotse_drift_total", "Units found changed outside the cluster.", ["kind"]),
    held: gauge("lotse_guard_held_units", "Removals held back by the guard."),
    waiting: gauge("lotse_plan_waiting_units", "Units whose change waits for approval."),
    planned: gauge("lotse_units_pending", "Units that differed from their specs in the last turn."),
    workers: counter(
      "lotse_engine_worker_starts_total",
      "Starts of the engine's worker process: one for each run, and one for each prepared run that was not needed.",
    ),
  };
}

/** Metrics that dashboards of HCCM and the Kubernetes framework use, and Events. */
function frameworkMetrics({ counter, histogram }: ReturnType<typeof makers>) {
  const seconds = "Duration of a run that changed load balancers.";
  return {
    operations: counter("cloud_controller_manager_operations_total", "Completed operations, by HCCM's name.", ["op"]),
    events: counter("lotse_events_total", "Events, including repeated ones.", ["type", "reason"]),
    balancerSyncs: counter("service_controller_loadbalancer_sync_total", "Load balancers synced."),
    nodeSyncErrors: counter("service_controller_nodesync_error_total", "Load balancers that failed to sync."),
    nodeSync: histogram("service_controller_nodesync_latency_seconds", seconds, RUN_SECONDS),
    hostUpdates: histogram("service_controller_update_loadbalancer_host_latency_seconds", seconds, RUN_SECONDS),
    routeSyncs: counter("route_controller_route_sync_total", "Turns that compared the network's routes."),
    taintDelay: histogram(
      "node_controller_cloud_provider_taint_removal_delay_seconds",
      "Time from a Node's creation until its uninitialized taint was removed.",
      NODE_SECONDS,
    ),
    nodeDelay: histogram(
      "node_controller_initial_node_sync_delay_seconds",
      "Time from a Node's creation until it was initialised.",
      NODE_SECONDS,
    ),
  };
}

/** Registers all of them, except those read at the time of a scrape. */
export function defineMetrics(registry: Registry) {
  const make = makers(registry);
  return { ...apiMetrics(make), ...loopMetrics(make), ...runMetrics(make), ...frameworkMetrics(make) } as const;
}

/** A gauge that is read at the time of a scrape, with the label whose values it has and labels that are always the same. */
export interface Scraped {
  readonly name: string;
  readonly help: string;
  readonly label: string;
  readonly fixed?: Readonly<Record<string, string>>;
}

const RUNNING = { help: "How long the current turn has been running.", label: "name" };

/** Gauges for `Metrics.observe`. */
export const SCRAPED = {
  build: { name: "lotse_build_info", help: "1, labelled with the running version.", label: "version" },
  leader: { name: "leader_election_master_status", help: "1 while this replica leads, otherwise 0.", label: "name" },
  controllers: {
    name: "running_managed_controllers",
    help: "1 for each controller that runs in this replica.",
    label: "name",
    fixed: { manager: "cloud-controller-manager" },
  },
  watchAge: {
    name: "lotse_watch_age_seconds",
    help: "Time since the API server last sent anything on a watch.",
    label: "kind",
  },
  // A loop runs one turn at a time, so these two are the same.
  unfinished: { name: "workqueue_unfinished_work_seconds", ...RUNNING },
  longest: { name: "workqueue_longest_running_processor_seconds", ...RUNNING },
} as const satisfies Readonly<Record<string, Scraped>>;
