/** The controller: opens its parts, connects them, and runs the loops until a signal. */
import { Absence } from "../apply/absence.ts";
import { Runner } from "../apply/runner.ts";
import type { Config } from "../config/config.ts";
import { renderConfigz } from "../config/configz.ts";
import { LeadershipLost } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { Leadership } from "../kube/lease.ts";
import type { AuditRecord } from "../record/record.ts";
import { ClusterTurn } from "../turns/cluster.ts";
import { LifecycleTurn } from "../turns/lifecycle.ts";
import { NodeTurn } from "../turns/nodes.ts";
import { Loops } from "../work/loops.ts";
import { openCluster, openEngine, openLeadership, openReports, openServing, renderOptions } from "./assemble.ts";
import { checkAttachment, openCloud } from "./assemble-cloud.ts";
import { Telemetry } from "./telemetry.ts";
import { type LoopName, Watches } from "./watches.ts";

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
  const parts = await openParts(config, log, { telemetry, ends });
  const { engine, leadership, reports } = parts;
  const watches = new Watches(config, parts.client, log);
  const loops = openLoops({ ...parts, config, log, telemetry, watches });
  ends.defer(() => loops.stop(leadership.isHeld ? STOP_GRACE_MS : 0, () => engine.stop()));
  ends.defer(() => watches.stop());

  const checks = telemetry.checks({ observer: watches.observer, leadership, loops });
  const served = { registry: telemetry.metrics.registry, checks, configz: renderConfigz(config), log };
  await openServing(config, served, ends);
  await Promise.race([watches.start((...names) => loops.wake(...names)), aborted(signal)]);
  if (signal.aborted || !(await leadership.acquire(signal))) return;

  await engine.start();
  loops.start();
  reports.watchPlan?.(() => loops.wake("cluster"));
  const { nodes, services } = watches.observed();
  log.info({ cluster: config.clusterName, nodes: nodes.length, services: services.length }, "controller running");
  const lost = await Promise.race([aborted(signal), leadership.lost]);
  if (lost !== undefined) throw new LeadershipLost(`leadership lost: ${lost}`);
  telemetry.stopping();
  log.info("stopping");
}

interface Opening {
  readonly telemetry: Telemetry;
  readonly ends: AsyncDisposableStack;
}

/** Both APIs, the engine, and the controller's ConfigMaps. Only the leader can write through any of them. */
async function openParts(config: Config, log: Logger, { telemetry, ends }: Opening) {
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
  const engine = await openEngine(config, cluster.client, ends, { mayWrite, onWorker: () => metrics.workerStarted() });
  return { leadership, ...cluster, reports, ...cloud, engine };
}

interface LoopParts extends Awaited<ReturnType<typeof openParts>> {
  readonly config: Config;
  readonly log: Logger;
  readonly telemetry: Telemetry;
  readonly watches: Watches;
}

/** The loops of the enabled controllers, not yet started. */
function openLoops(parts: LoopParts): Loops<LoopName> {
  const { config, log, telemetry } = parts;
  const turns = buildTurns(parts);
  const works = {
    nodes: config.nodes && (() => turns.nodes.run()),
    lifecycle: config.lifecycle && (() => turns.lifecycle.run()),
    cluster: (config.loadBalancers || config.clusterCidrs.length > 0) && (() => turns.cluster.run()),
  };
  return new Loops(works, { ...GATHER, everyMs: config.resyncMs, log, observer: telemetry.metrics });
}

function buildTurns(parts: LoopParts) {
  const { config, log, telemetry, watches, view, gateway, engine, publish, patcher, robot, reports } = parts;
  const options = renderOptions(config, parts.networkId);
  const nodes = () => watches.observer.nodes();
  const shared = { nodes, view, publish, patcher, log };
  const runner = new Runner({
    engine,
    gateway,
    log,
    record: reports.record,
    onReport: (report) => telemetry.noteRun(report),
    context: async (rendered) => {
      const servers = await view.servers(REASON_AGE_MS);
      return { rendered, nodes: nodes(), servers, defaults: options.defaults };
    },
  });
  const robotState = robot && ((number: number) => robot.state(number));
  const { nodeMonitorMs: periodMs, guard: guardLimits, resyncMs } = config;
  return {
    nodes: new NodeTurn({ ...shared, options, ...(robot && { robots: () => robot.inventory() }) }),
    lifecycle: new LifecycleTurn({ ...shared, periodMs, ...(robotState && { robotState }) }),
    cluster: new ClusterTurn({
      ...shared,
      ...reports,
      observed: watches.observed,
      options,
      guardLimits,
      resyncMs,
      runner,
      absence: new Absence(parts.reader),
      report: (facts) => telemetry.metrics.turn(facts),
    }),
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
