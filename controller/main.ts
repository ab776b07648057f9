#!/usr/bin/env node
/** Composition root: introduces the parts to each other, handles signals, sets the exit code. */
import { checkAttachment, openCloud, openCluster, renderOptions, startEngine, trustAuthorities } from "./assemble.ts";
import { LifecycleTurn } from "./cluster/lifecycle.ts";
import { NodeTurn } from "./cluster/nodes.ts";
import { concernsCluster, concernsLifecycle, concernsNode, concernsService } from "./cluster/relevance.ts";
import { ClusterTurn } from "./cluster/turn.ts";
import { type CommandDefinition, commandLine } from "./command-line.ts";
import { OTHER_COMMANDS } from "./commands/table.ts";
import { type Config, loadConfig } from "./config.ts";
import { CcmError, ConfigError } from "./errors.ts";
import { type FlagValues, RUN_FLAGS } from "./flags.ts";
import { KubeObserver } from "./kube/observer.ts";
import { createLogger, type Logger } from "./log.ts";
import { Loop } from "./work/loop.ts";

/** Events are gathered until this much quiet, at most for this long. */
const GATHER = { quietMs: 100, patienceMs: 1_000 };

/** Runs the controller until the signal fires. Whatever was started is stopped again, in the opposite order. */
export async function runController(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  await using ends = new AsyncDisposableStack();
  const { gateway, view, networkId, robot } = await openCloud(config, log, ends);
  await checkAttachment(config, networkId, log);
  const { client, patcher, publish } = await openCluster(config, log, ends);
  const engine = await startEngine(config, client, ends);

  const observer = new KubeObserver({
    client,
    log,
    onNode: (change) => {
      if (concernsNode(change)) loops.nodes.wake();
      if (concernsLifecycle(change)) loops.lifecycle.wake();
      if (concernsCluster(change)) loops.cluster.wake();
    },
    onService: (change) => {
      if (concernsService(change)) loops.cluster.wake();
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
    cluster: new ClusterTurn({ observed, view, engine, gateway, publish, options, guardLimits: config.guard, log }),
  };
  const loopOf = (name: keyof typeof turns) =>
    new Loop({ name, work: () => turns[name].run(), ...GATHER, everyMs: config.resyncMs, log });
  const loops = { nodes: loopOf("nodes"), lifecycle: loopOf("lifecycle"), cluster: loopOf("cluster") };

  ends.defer(() => observer.stop());
  await Promise.race([observer.start(), aborted(signal)]);
  if (signal.aborted) return;
  for (const loop of Object.values(loops)) {
    ends.defer(() => loop.stop());
    loop.wake();
  }
  const { nodes: known, services } = observed();
  log.info({ cluster: config.clusterName, nodes: known.length, services: services.length }, "controller running");
  await aborted(signal);
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
  if (config.lease) log.warn("leader election is not there yet: run one replica, and pass --leader-elect=false");
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
