/** The controller: opens its parts, connects them, and runs the loops until a signal. */
import { Absence } from "../apply/proof.ts";
import { Runner } from "../apply/runner.ts";
import type { Config } from "../config/config.ts";
import { renderConfigz } from "../config/configz.ts";
import { LeadershipLost } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { Pace } from "../guard/pace.ts";
import { minIntervalMs } from "../hcloud/budget.ts";
import { pricesOf } from "../hcloud/prices.ts";
import type { Leadership } from "../kube/lease.ts";
import { type LoopName, Watches } from "../observe/watches.ts";
import type { AuditRecord } from "../record/record.ts";
import { ClusterTurn } from "../turns/cluster.ts";
import { LifecycleTurn } from "../turns/lifecycle.ts";
import { NodeTurn } from "../turns/nodes.ts";
import { aborted } from "../work/clock.ts";
import { Loops } from "../work/loop.ts";
import {
  openCluster,
  openEngine,
  openLeadership,
  openMirror,
  openReports,
  openServing,
  renderOptions,
} from "./assemble.ts";
import { checkAttachment, openCloud } from "./assemble-cloud.ts";
import { Telemetry } from "./telemetry.ts";

/** A turn waits until no event has arrived for `quietMs`, but `patienceMs` at most. */
const GATHER = { quietMs: 100, patienceMs: 1_000 };
/** Maximum age of the server list used to explain changes. */
const REASON_AGE_MS = 90_000;
/** How long a run may continue after a signal: less than a pod's grace period of 30 s. */
const STOP_GRACE_MS = 15_000;

/** Runs until the signal fires, then closes everything in reverse order. Throws LeadershipLost when the lease is lost. */
export async function runController(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  await using ends = new AsyncDisposableStack();
  const telemetry = new Telemetry(config);
  const parts = await openParts(config, log, telemetry, ends);
  const { engine, gateway, leadership, reports } = parts;
  const pace = new Pace();
  const watches = new Watches(config, { client: parts.client, pace, log });
  const { loops, wake } = openLoops({ ...parts, config, log, telemetry, watches, pace });
  const hurry = () => {
    gateway.giveUp();
    return engine.stop();
  };
  ends.defer(() => loops.stop(leadership.isHeld ? STOP_GRACE_MS : 0, hurry));
  ends.defer(() => watches.stop());

  const checks = telemetry.checks({ observer: watches.observer, leadership, loops });
  const served = { registry: telemetry.metrics.registry, checks, configz: renderConfigz(config), log };
  await openServing(config, served, ends);
  await Promise.race([watches.start(wake), aborted(signal)]);
  if (signal.aborted || !(await leadership.acquire(signal))) return;

  await engine.start();
  loops.start();
  wake("cluster"); // the first turn usually finds something to do
  reports.watchPlan?.(() => wake("cluster"));
  // The lease may be acquired before the watches are back after an outage: then the turns wait for them.
  log.info({ cluster: config.clusterName, ...watches.counts }, "controller running");
  const lost = await Promise.race([aborted(signal), leadership.lost]);
  if (lost !== undefined) throw new LeadershipLost(`leadership lost: ${lost}`);
  telemetry.stopping();
  log.info("stopping");
}

/** Both APIs, the engine, and the controller's ConfigMaps. Only the leader can write through any of them. */
async function openParts(config: Config, log: Logger, telemetry: Telemetry, ends: AsyncDisposableStack) {
  const { metrics } = telemetry;
  // The Hetzner side is opened first and only reads until leadership and record are assigned below.
  const later: { leadership?: Leadership; record?: AuditRecord } = {};
  const mayWrite = () => later.leadership?.isHeld ?? false;
  const ports = telemetry.cloudPorts((exchange) => later.record?.note(exchange));
  const cloud = await openCloud(config, log, ends, { ...ports, mayWrite });
  await checkAttachment(config, cloud.networkId, log);
  const leadership = await openLeadership(config, log, ends);
  const cluster = await openCluster(config, log, ends, {
    mayWrite,
    onExchange: (exchange) => metrics.kubeExchange(exchange),
    onEvent: (event) => metrics.event(event),
  });
  const reports = openReports(config, cluster.client, log, ends);
  Object.assign(later, { leadership, record: reports.record });
  const { engine, home } = await openEngine(config, ends, () => metrics.workerStarted());
  const mirror = openMirror(config, { home, client: cluster.client, mayWrite, log }, ends);
  return { leadership, ...cluster, reports, ...cloud, engine, ...(mirror && { mirror }) };
}

interface LoopParts extends Awaited<ReturnType<typeof openParts>> {
  readonly config: Config;
  readonly log: Logger;
  readonly telemetry: Telemetry;
  readonly watches: Watches;
  readonly pace: Pace;
}

/** The loops of the enabled controllers, not yet started, and what wakes them. */
export function openLoops(parts: LoopParts) {
  const { config, log, telemetry } = parts;
  const { runner, ...turns } = buildTurns(parts, () => loops.wake("cluster"));
  const works = {
    nodes: config.nodes && (() => turns.nodes.run()),
    lifecycle: config.lifecycle && (() => turns.lifecycle.run()),
    cluster: (config.loadBalancers || config.clusterCidrs.length > 0) && (() => turns.cluster.run()),
  };
  // Nodes are few and urgent: their loops are not slowed down.
  const slowest = (name: string) => (name === "cluster" ? minIntervalMs(parts.gateway.budget) : 0);
  const isScarce = () => slowest("cluster") > 0; // then the turn starts too late for a list that is read now
  const shared = { ...GATHER, everyMs: config.resyncMs, minIntervalMs: slowest, log, observer: telemetry.metrics };
  const loops: Loops<LoopName> = new Loops(works, shared);
  const wake = (...names: readonly LoopName[]) => {
    if (works.cluster && loops.isStarted && names.includes("cluster")) {
      // While the turn gathers events, the engine starts, and the list arrives that it needs first.
      runner.hurry();
      runner.prepare();
      if (loops.runningMs.cluster === 0 && !isScarce()) parts.view.prefetch();
    }
    loops.wake(...names);
  };
  return { loops, wake };
}

function buildTurns(parts: LoopParts, onArrival: () => void) {
  const { config, log, telemetry, watches, view, gateway, engine, publish, patcher, robot, reports } = parts;
  const options = renderOptions(config, parts.networkId);
  const nodes = () => watches.observer.nodes();
  const shared = { nodes, view, publish, patcher, log, ...(parts.mirror && { mirror: parts.mirror }) };
  const runner = new Runner({
    engine,
    gateway,
    view,
    log,
    record: reports.record,
    onArrival,
    prices: async () => pricesOf(await parts.reader.pricing()),
    onReport: (report, isLate) => telemetry.noteRun(report, isLate),
    context: async (rendered) => {
      const servers = await view.servers(REASON_AGE_MS);
      return { rendered, nodes: nodes(), servers, defaults: options.defaults };
    },
  });
  const robotState = robot && ((number: number) => robot.state(number));
  const { nodeMonitorMs: periodMs, guard: guardLimits, resyncMs } = config;
  return {
    runner,
    nodes: new NodeTurn({ ...shared, options, ...(robot && { robots: () => robot.inventory() }) }),
    lifecycle: new LifecycleTurn({ ...shared, periodMs, ...(robotState && { robotState }) }),
    cluster: new ClusterTurn({
      ...shared,
      ...reports,
      observed: watches.observed,
      pace: parts.pace,
      options,
      guardLimits,
      resyncMs,
      runner,
      gateway,
      absence: new Absence(parts.reader),
      report: (facts) => telemetry.noteTurn(facts),
    }),
  };
}
