/** `lotse run`: introduces the parts to each other, and runs them until it is told to stop. */

import { Absence } from "../apply/absence.ts";
import { Runner } from "../apply/runner.ts";
import type { Config } from "../config/config.ts";
import { renderConfigz } from "../config/configz.ts";
import { LeadershipLost } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { KubeObserver } from "../kube/observer.ts";
import { TlsSecrets } from "../kube/tls-secrets.ts";
import { Lookout } from "../observe/lookout.ts";
import {
  concernsCluster,
  concernsLifecycle,
  concernsNode,
  concernsSecret,
  concernsService,
} from "../observe/relevance.ts";
import type { Rendered } from "../render/cluster.ts";
import { ClusterTurn } from "../turns/cluster.ts";
import { LifecycleTurn } from "../turns/lifecycle.ts";
import { NodeTurn } from "../turns/nodes.ts";
import { Loops } from "../work/loops.ts";
import { openCluster, openEngine, openLeadership, openReports, openServing, renderOptions } from "./assemble.ts";
import { checkAttachment, openCloud } from "./assemble-cloud.ts";
import { Telemetry } from "./telemetry.ts";

/** Events are gathered until this much quiet, at most for this long. */
const GATHER = { quietMs: 100, patienceMs: 1_000 };
/** Servers this old are good enough to name the node that a change is for. */
const REASON_AGE_MS = 90_000;
/** How long a run may go on after we were asked to stop: less than a kubelet waits before it kills. */
const STOP_GRACE_MS = 15_000;

/** Runs the controller until the signal fires. Whatever was started is stopped again, in the opposite order. */
export async function runController(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  await using ends = new AsyncDisposableStack();
  const telemetry = new Telemetry(config);
  const { metrics } = telemetry;
  const mayWrite = () => leadership.isHeld;
  let reports: ReturnType<typeof openReports> | undefined;
  const ports = telemetry.cloudPorts((exchange) => reports?.record.note(exchange));
  const { gateway, reader, view, networkId, robot } = await openCloud(config, log, ends, { ...ports, mayWrite });
  await checkAttachment(config, networkId, log);
  const leadership = await openLeadership(config, log, ends);
  const { client, patcher, publish } = await openCluster(config, log, ends, {
    mayWrite,
    onExchange: metrics.kubeExchange.bind(metrics),
    onEvent: (event) => metrics.event(event),
  });
  reports = openReports(config, client, log, ends);
  const engine = await openEngine(config, client, ends, { mayWrite, onWorker: () => metrics.workerStarted() });

  const observer = new KubeObserver({
    client,
    log,
    onNode: (change) => {
      if (concernsNode(change)) loops.wake("nodes");
      if (concernsLifecycle(change)) loops.wake("lifecycle");
      if (concernsCluster(change)) loops.wake("cluster");
    },
    onService: (change) => {
      if (concernsService(change)) loops.wake("cluster");
    },
    onBack: () => loops.wake("nodes", "lifecycle", "cluster"),
  });
  const secrets =
    config.tlsSecrets &&
    new TlsSecrets({
      client,
      log,
      ...config.tlsSecrets,
      onChange: (change) => {
        if (concernsSecret(change)) loops.wake("cluster");
      },
    });
  const nodes = () => observer.nodes();
  const observed = () => ({
    nodes: nodes(),
    services: config.loadBalancers ? observer.services() : [],
    secrets: secrets?.lists() ?? [],
  });
  const options = renderOptions(config, networkId);
  const context = async (rendered: Rendered) => {
    const servers = await view.servers(REASON_AGE_MS);
    return { rendered, nodes: nodes(), servers, defaults: options.defaults };
  };
  const absence = new Absence(reader);
  const writing = { publish, patcher };
  const turns = {
    nodes: new NodeTurn({ nodes, view, ...writing, options, log, ...(robot && { robots: () => robot.inventory() }) }),
    lifecycle: new LifecycleTurn({
      nodes,
      view,
      ...writing,
      periodMs: config.nodeMonitorMs,
      log,
      ...(robot && { robotState: (number: number) => robot.state(number) }),
    }),
    cluster: new ClusterTurn({
      lookout: new Lookout({ observed, view, publish, options, absence, resyncMs: config.resyncMs }),
      runner: new Runner({
        engine,
        gateway,
        context,
        log,
        ...reports,
        onReport: (report) => telemetry.noteRun(report),
      }),
      absence,
      observed,
      publish,
      guardLimits: config.guard,
      ...reports,
      report: (facts) => metrics.turn(facts),
      log,
    }),
  };
  const works = {
    nodes: config.nodes && (() => turns.nodes.run()),
    lifecycle: config.lifecycle && (() => turns.lifecycle.run()),
    cluster: (config.loadBalancers || config.clusterCidrs.length > 0) && (() => turns.cluster.run()),
  };
  const loops = new Loops(works, { ...GATHER, everyMs: config.resyncMs, log, observer: metrics });
  ends.defer(() => loops.stop(leadership.isHeld ? STOP_GRACE_MS : 0, () => engine.stop()));
  ends.defer(async () => void (await Promise.all([observer.stop(), secrets?.stop()])));

  const checks = telemetry.checks({ observer, leadership, loops });
  await openServing(config, { registry: metrics.registry, checks, configz: renderConfigz(config), log }, ends);
  await Promise.race([Promise.all([observer.start(), secrets?.start()]), aborted(signal)]);
  if (signal.aborted || !(await leadership.acquire(signal))) return;
  await engine.start();
  loops.start();
  reports.watchPlan?.(() => loops.wake("cluster"));
  const { nodes: known, services } = observed();
  log.info({ cluster: config.clusterName, nodes: known.length, services: services.length }, "controller running");
  const lost = await Promise.race([aborted(signal), leadership.lost]);
  if (lost !== undefined) throw new LeadershipLost(`leadership lost: ${lost}`);
  telemetry.stopping();
  log.info("stopping");
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
