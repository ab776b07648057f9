#!/usr/bin/env node
/** Composition root: introduces the parts to each other, handles signals, sets the exit code. */
import {
  checkAttachment,
  openCloud,
  openCluster,
  openEngine,
  openLeadership,
  renderOptions,
  trustAuthorities,
} from "./assemble.ts";
import { LifecycleTurn } from "./cluster/lifecycle.ts";
import { NodeTurn } from "./cluster/nodes.ts";
import { concernsCluster, concernsLifecycle, concernsNode, concernsService } from "./cluster/relevance.ts";
import { ClusterTurn } from "./cluster/turn.ts";
import { type CommandDefinition, commandLine } from "./command-line.ts";
import { OTHER_COMMANDS } from "./commands/table.ts";
import { type Config, loadConfig } from "./config.ts";
import { CcmError, ConfigError, LeadershipLost } from "./errors.ts";
import { type FlagValues, RUN_FLAGS } from "./flags.ts";
import { KubeObserver } from "./kube/observer.ts";
import { createLogger, type Logger } from "./log.ts";
import { openReports } from "./reports.ts";
import { Loops } from "./work/loops.ts";

/** Events are gathered until this much quiet, at most for this long. */
const GATHER = { quietMs: 100, patienceMs: 1_000 };
/** How long a run may go on after we were asked to stop: less than a kubelet waits before it kills. */
const STOP_GRACE_MS = 15_000;

/** Runs the controller until the signal fires. Whatever was started is stopped again, in the opposite order. */
export async function runController(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  await using ends = new AsyncDisposableStack();
  const mayWrite = () => leadership.isHeld;
  let reports: ReturnType<typeof openReports> | undefined;
  const { gateway, view, networkId, robot } = await openCloud(config, log, ends, {
    mayWrite,
    onExchange: (exchange) => reports?.record.note(exchange),
  });
  await checkAttachment(config, networkId, log);
  const leadership = await openLeadership(config, log, ends);
  const { client, patcher, publish } = await openCluster(config, log, ends, { mayWrite });
  reports = openReports(config, client, log, ends);
  const engine = await openEngine(config, client, ends, mayWrite);

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
  });
  const nodes = () => observer.nodes();
  const observed = () => ({ nodes: nodes(), services: config.loadBalancers ? observer.services() : [] });
  const options = renderOptions(config, networkId);
  const writing = {
    publish,
    patchNode: patcher.patchNode.bind(patcher),
    readNode: patcher.readNode.bind(patcher),
    deleteNode: patcher.deleteNode.bind(patcher),
  };
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
      observed,
      view,
      engine,
      gateway,
      publish,
      options,
      guardLimits: config.guard,
      resyncMs: config.resyncMs,
      ...reports,
      log,
    }),
  };
  const works = {
    nodes: config.nodes && (() => turns.nodes.run()),
    lifecycle: config.lifecycle && (() => turns.lifecycle.run()),
    cluster: (config.loadBalancers || config.clusterCidrs.length > 0) && (() => turns.cluster.run()),
  };
  const loops = new Loops(works, { ...GATHER, everyMs: config.resyncMs, log });
  ends.defer(() => loops.stop(leadership.isHeld ? STOP_GRACE_MS : 0, () => engine.stop()));
  ends.defer(() => observer.stop());

  await Promise.race([observer.start(), aborted(signal)]);
  if (signal.aborted || !(await leadership.acquire(signal))) return;
  await engine.start();
  loops.start();
  reports.watchPlan?.(() => loops.wake("cluster"));
  const { nodes: known, services } = observed();
  log.info({ cluster: config.clusterName, nodes: known.length, services: services.length }, "controller running");
  const lost = await Promise.race([aborted(signal), leadership.lost]);
  if (lost !== undefined) throw new LeadershipLost(`leadership lost: ${lost}`);
  log.info("stopping");
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

async function run(flags: FlagValues): Promise<void> {
  const config = loadConfig(flags, process.env);
  const log = await createLogger({ format: config.logFormat, level: config.verbosity >= 2 ? "debug" : "info" });
  for (const warning of config.warnings) log.warn(warning);
  trustAuthorities(process.env.SSL_CERT_FILE);
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  await runController(config, log, stop.signal);
}

const COMMANDS: readonly CommandDefinition[] = [
  {
    name: "run",
    summary: "run the controller",
    flags: RUN_FLAGS,
    epilogue:
      "Flags of other cloud-controller-managers are accepted; docs/options.md says which have no effect, and why.",
    action: ({ flags }) => run(flags),
  },
  ...OTHER_COMMANDS,
];

if (import.meta.main) {
  try {
    await commandLine(COMMANDS).parseAsync();
  } catch (error) {
    const known = error instanceof CcmError ? error.message : String(error);
    for (const line of error instanceof ConfigError ? error.mistakes : [known])
      process.stderr.write(`lotse: ${line}\n`);
    process.exitCode = 1;
  }
}
