import { beforeEach, describe, expect, it } from "vitest";
import { Metrics } from "../../../../controller/app/metrics.ts";
import { aNode, aService } from "../../../support/builders.ts";

let metrics: Metrics;
beforeEach(() => {
  metrics = new Metrics("1.2.3");
});

/** Lines of the page that start with this. */
const lines = async (start: string) =>
  (await metrics.registry.metrics()).split("\n").filter((line) => line.startsWith(start));

const exchange = {
  run: "reader",
  method: "GET",
  path: "/servers?page=1",
  endpoint: "/servers",
  status: 200,
  durationMs: 30,
};

describe("requests to the cloud", () => {
  it("HCCM O3: are counted by code, method and endpoint, and measured", async () => {
    metrics.apiExchange(exchange);
    metrics.apiExchange({ ...exchange, method: "POST", endpoint: "/load_balancers/-/actions/add_target", status: 0 });
    expect(await lines("hcloud_api_requests_total")).toEqual([
      'hcloud_api_requests_total{code="200",method="get",api_endpoint="/servers"} 1',
      'hcloud_api_requests_total{code="error",method="post",api_endpoint="/load_balancers/-/actions/add_target"} 1',
    ]);
    expect(await lines('hcloud_api_request_duration_seconds_bucket{le="0.05",method="get"')).toHaveLength(1);
  });

  it("HCCM O3: are counted while they are in flight", async () => {
    metrics.apiInFlight(1);
    metrics.apiInFlight(1);
    metrics.apiInFlight(-1);
    expect(await lines("hcloud_api_in_flight_requests")).toEqual(["hcloud_api_in_flight_requests 1"]);
  });

  it("update the rate limit from the headers, and keep it when there are none", async () => {
    metrics.apiBudget({ "ratelimit-remaining": "3590", "ratelimit-limit": "3600" });
    metrics.apiBudget({});
    expect(await lines("lotse_api_budget")).toEqual(["lotse_api_budget_remaining 3590", "lotse_api_budget_limit 3600"]);
  });
});

describe("runs", () => {
  const failure = { code: "resource_limit_exceeded", message: "m", retry: "never" } as const;

  it("are counted with their units, by outcome and code, never by name", async () => {
    metrics.run({
      durationMs: 1_500,
      outcomes: {
        "load-balancer/default/secret-name@0c7e1a529d3b": { status: "applied", changes: [] },
        "load-balancer/default/other@0c7e1a529d3c": { status: "failed", changes: [], failure },
        "route/10.0.0.0/24": { status: "applied", changes: [] },
      },
    });
    expect(await lines("lotse_runs_total")).toEqual(['lotse_runs_total{result="failed"} 1']);
    expect(await lines("lotse_units_total")).toEqual([
      'lotse_units_total{kind="load-balancer",outcome="applied",code=""} 1',
      'lotse_units_total{kind="load-balancer",outcome="failed",code="resource_limit_exceeded"} 1',
      'lotse_units_total{kind="route",outcome="applied",code=""} 1',
    ]);
    expect(await lines("service_controller_loadbalancer_sync_total")).toEqual([
      "service_controller_loadbalancer_sync_total 1",
    ]);
    expect(await lines("service_controller_nodesync_error_total")).toEqual([
      "service_controller_nodesync_error_total 1",
    ]);
    expect(await metrics.registry.metrics()).not.toContain("secret-name");
  });

  it("are counted once, and their units when their actions have ended", async () => {
    metrics.run({ durationMs: 20_000, outcomes: {} });
    metrics.units({ "load-balancer/a/b@0": { status: "applied", changes: [] } });
    expect(await lines("lotse_runs_total")).toEqual(['lotse_runs_total{result="applied"} 1']);
    expect(await lines("lotse_units_total")).toEqual([
      'lotse_units_total{kind="load-balancer",outcome="applied",code=""} 1',
    ]);
  });

  it("are preceded by numbers of what differs, drifted, is held back or waits", async () => {
    metrics.turn({
      planned: 3,
      drifted: ["load-balancer/a/b@0", "route/10.0.0.0/24"],
      held: 9,
      waiting: 4,
      hasRoutes: true,
    });
    metrics.turn({ planned: 0, drifted: [], held: 0, waiting: 2, hasRoutes: true });
    expect(await lines("lotse_drift_total")).toEqual([
      'lotse_drift_total{kind="load-balancer"} 1',
      'lotse_drift_total{kind="route"} 1',
    ]);
    expect(await lines("lotse_guard_held_units")).toEqual(["lotse_guard_held_units 0"]);
    expect(await lines("lotse_plan_waiting_units")).toEqual(["lotse_plan_waiting_units 2"]);
    expect(await lines("route_controller_route_sync_total")).toEqual(["route_controller_route_sync_total 2"]);
  });
});

describe("loops", () => {
  it("framework 5.6: are measured like work queues with one item", async () => {
    metrics.asked("nodes");
    metrics.asked("nodes");
    metrics.started("nodes", 100);
    metrics.ended("nodes", 250, false);
    expect(await lines("workqueue_adds_total")).toEqual(['workqueue_adds_total{name="nodes"} 2']);
    expect(await lines("workqueue_depth")).toEqual(['workqueue_depth{name="nodes"} 0']);
    expect(await lines("workqueue_retries_total")).toEqual(['workqueue_retries_total{name="nodes"} 1']);
    expect(await lines("lotse_turns_total")).toEqual(['lotse_turns_total{loop="nodes",result="failed"} 1']);
  });
});

describe("Events", () => {
  it("count as HCCM's operations when they complete one (HCCM O2)", async () => {
    const object = aService();
    const notice = { about: { kind: "Service", object }, type: "Normal", message: "m" } as const;
    metrics.event({ ...notice, reason: "EnsuredLoadBalancer" });
    metrics.event({ ...notice, reason: "EnsuringLoadBalancer" });
    expect(await lines("cloud_controller_manager_operations_total")).toEqual([
      'cloud_controller_manager_operations_total{op="hcloud/loadBalancers.EnsureLoadBalancer"} 1',
    ]);
    expect(await lines("lotse_events_total")).toHaveLength(2);
  });

  it("framework 5.6: measure how long a Node waited", async () => {
    const object = aNode({ name: "n", created: new Date(Date.now() - 10_000) });
    metrics.event({ about: { kind: "Node", object }, type: "Normal", reason: "Synced", message: "m" });
    const name = "node_controller_initial_node_sync_delay_seconds_bucket";
    expect(await lines(name)).toContain(`${name}{le="16"} 1`);
    expect(await lines(name)).toContain(`${name}{le="4"} 0`);
  });
});

describe("metrics read at the time of a scrape", () => {
  it("framework 5.6: say who leads, what runs, and how old the watches are", async () => {
    let isLeader = false;
    metrics.observe({
      lease: "ccm",
      isLeader: () => isLeader,
      controllers: ["service", "route"],
      watchAges: () => ({ nodes: 1.5 }),
      runningTurns: () => ({ cluster: 2 }),
    });
    expect(await lines("leader_election_master_status")).toEqual(['leader_election_master_status{name="ccm"} 0']);
    isLeader = true;
    expect(await lines("leader_election_master_status")).toEqual(['leader_election_master_status{name="ccm"} 1']);
    expect(await lines("running_managed_controllers")).toEqual([
      'running_managed_controllers{name="service",manager="cloud-controller-manager"} 1',
      'running_managed_controllers{name="route",manager="cloud-controller-manager"} 1',
    ]);
    expect(await lines("lotse_watch_age_seconds")).toEqual(['lotse_watch_age_seconds{kind="nodes"} 1.5']);
    expect(await lines("lotse_build_info")).toEqual(['lotse_build_info{version="1.2.3"} 1']);
  });
});
