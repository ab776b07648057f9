/** All metrics with a fixed set of labels, by what they are about. docs/reference/metrics.md is made from them. */
import { Counter, Gauge, Histogram, type Registry } from "prom-client";

const API_SECONDS = [0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
const RUN_SECONDS = [0.5, 1, 2.5, 5, 10, 20, 40, 80, 160];
const NODE_SECONDS = [1, 4, 16, 64, 256, 1024];
const QUEUE_SECONDS = [0.001, 0.01, 0.1, 0.5, 1, 5, 10, 60, 120];

/** Makes one kind of metric in one registry. */
function makers(registry: Registry) {
  const registers = [registry];
  return {
    counter: (name: string, help: string, labels: readonly string[] = []) =>
      new Counter({ name, help, labelNames: [...labels], registers }),
    gauge: (name: string, help: string, labels: readonly string[] = []) =>
      new Gauge({ name, help, labelNames: [...labels], registers }),
    histogram: (name: string, help: string, labels: readonly string[], buckets: readonly number[]) =>
      new Histogram({ name, help, labelNames: [...labels], buckets: [...buckets], registers }),
  };
}

/** Requests to the Hetzner API and to Kubernetes. */
function apiMetrics({ counter, gauge, histogram }: ReturnType<typeof makers>) {
  return {
    apiRequests: counter("hcloud_api_requests_total", "Requests to the Hetzner API, ids replaced by -.", [
      "code",
      "method",
      "api_endpoint",
    ]),
    apiDuration: histogram(
      "hcloud_api_request_duration_seconds",
      "Time until the Hetzner API answered.",
      ["method"],
      API_SECONDS,
    ),
    apiInFlight: gauge("hcloud_api_in_flight_requests", "Requests to the Hetzner API on their way."),
    budget: gauge("lotse_api_budget_remaining", "Requests that the Hetzner API would still answer, as it last said."),
    budgetLimit: gauge(
      "lotse_api_budget_limit",
      "Requests an hour that the Hetzner API allows the project, as it last said.",
    ),
    kubeRequests: counter("rest_client_requests_total", "Requests to the Kubernetes API server.", [
      "code",
      "method",
      "host",
    ]),
    kubeDuration: histogram(
      "rest_client_request_duration_seconds",
      "Time until the Kubernetes API server answered.",
      ["verb", "host"],
      API_SECONDS,
    ),
  };
}

/** Loops and their turns. */
function loopMetrics({ counter, gauge, histogram }: ReturnType<typeof makers>) {
  return {
    adds: counter("workqueue_adds_total", "Times that a loop was asked to run.", ["name"]),
    depth: gauge("workqueue_depth", "1 while a loop was asked to run and has not begun.", ["name"]),
    waited: histogram(
      "workqueue_queue_duration_seconds",
      "Time from being asked to the beginning of a turn.",
      ["name"],
      QUEUE_SECONDS,
    ),
    worked: histogram("workqueue_work_duration_seconds", "Time that a turn took.", ["name"], RUN_SECONDS),
    retries: counter("workqueue_retries_total", "Turns that failed and are tried again.", ["name"]),
    turns: counter("lotse_turns_total", "Turns of the loops.", ["loop", "result"]),
  };
}

/** Runs of the engine, and what they are for. */
function runMetrics({ counter, gauge, histogram }: ReturnType<typeof makers>) {
  return {
    runs: counter("lotse_runs_total", "Runs of the engine; failed when at least one unit did not get there.", [
      "result",
    ]),
    runDuration: histogram("lotse_run_duration_seconds", "Time that a run of the engine took.", [], RUN_SECONDS),
    units: counter("lotse_units_total", "Units in runs, by how they ended; code is that of the failure.", [
      "kind",
      "outcome",
      "code",
    ]),
    drift: counter("lotse_drift_total", "Units found changed outside of the cluster.", ["kind"]),
    held: gauge("lotse_guard_held_units", "Removals that the guard holds back."),
    waiting: gauge("lotse_plan_waiting_units", "Units whose change waits for approval."),
    planned: gauge("lotse_units_pending", "Units that are not as wanted, at the last look."),
    workers: counter(
      "lotse_engine_worker_starts_total",
      "Starts of the engine's worker process; the first one included.",
    ),
  };
}

/** What dashboards of the official controller and the framework look at. */
function frameworkMetrics({ counter, histogram }: ReturnType<typeof makers>) {
  return {
    operations: counter(
      "cloud_controller_manager_operations_total",
      "Operations of the official controller that were carried out.",
      ["op"],
    ),
    events: counter("lotse_events_total", "Events for users.", ["type", "reason"]),
    balancerSyncs: counter("service_controller_loadbalancer_sync_total", "Balancers that were brought up to date."),
    nodeSyncErrors: counter(
      "service_controller_nodesync_error_total",
      "Balancers that could not be brought up to date.",
    ),
    nodeSync: histogram(
      "service_controller_nodesync_latency_seconds",
      "Time that a run with balancers took.",
      [],
      RUN_SECONDS,
    ),
    hostUpdates: histogram(
      "service_controller_update_loadbalancer_host_latency_seconds",
      "As the one before.",
      [],
      RUN_SECONDS,
    ),
    routeSyncs: counter("route_controller_route_sync_total", "Looks at all routes."),
    taintDelay: histogram(
      "node_controller_cloud_provider_taint_removal_delay_seconds",
      "Time from a node's creation until its taint was gone.",
      [],
      NODE_SECONDS,
    ),
    nodeDelay: histogram(
      "node_controller_initial_node_sync_delay_seconds",
      "Time from a node's creation until it was initialised.",
      [],
      NODE_SECONDS,
    ),
  };
}

/** Makes them all. */
export function defineMetrics(registry: Registry) {
  const make = makers(registry);
  return { ...apiMetrics(make), ...loopMetrics(make), ...runMetrics(make), ...frameworkMetrics(make) } as const;
}
