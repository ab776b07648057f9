#!/usr/bin/env node
/** Command line and composition root: builds everything, wires it, handles signals, sets the exit code. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { Command } from "commander";
import packageJson from "../package.json" with { type: "json" };
import { Engine } from "../stacks/engine.ts";
import { RemoteState } from "../stacks/remote-state.ts";
import type { StateStore } from "../stacks/state-store.ts";
import type { EngineHome } from "../stacks/workspace.ts";
import { LifecycleTurn } from "./cluster/lifecycle.ts";
import { NodeTurn } from "./cluster/nodes.ts";
import { Publisher } from "./cluster/publish.ts";
import { concernsCluster, concernsLifecycle, concernsNode, concernsService } from "./cluster/relevance.ts";
import { ClusterTurn } from "./cluster/turn.ts";
import { type Config, FLAGS, type FlagValues, loadConfig } from "./config.ts";
import { findEngine } from "./engine-home.ts";
import { CcmError, ConfigError, messageOf } from "./errors.ts";
import { Gateway } from "./hcloud/gateway.ts";
import { CloudReader } from "./hcloud/reader.ts";
import { Upstream } from "./hcloud/upstream.ts";
import { CloudView } from "./hcloud/view.ts";
import { KubeClient, paths } from "./kube/client.ts";
import { EventRecorder } from "./kube/events.ts";
import { Informer } from "./kube/informer.ts";
import { loadAccess } from "./kube/kubeconfig.ts";
import { SecretState } from "./kube/state-secrets.ts";
import { Patcher } from "./kube/write.ts";
import { createLogger, type Logger } from "./log.ts";
import { RobotClient } from "./robot/client.ts";
import { Loop } from "./work/loop.ts";

/** How long an interrupted run may take to end by itself. */
const GRACE_MS = 10_000;
const MAX_WORKER_HEAP = 256 * 1024 * 1024;
/** Events are gathered until this much quiet, at most for this long. */
const GATHER = { quietMs: 100, patienceMs: 1_000 };

/** Runs the controller until the signal fires. Whatever was started is stopped again, in the opposite order. */
export async function runController(config: Config, log: Logger, signal: AbortSignal): Promise<void> {
  await using started = new AsyncDisposableStack();
  const stopping = <T extends { stop(): Promise<void> }>(part: T): T => {
    started.defer(() => part.stop());
    return part;
  };

  const gateway = stopping(new Gateway(upstreamOf(config), (exchange) => log.debug(exchange, "api request")));
  await gateway.start();
  const reader = new CloudReader(gateway);
  const networkId = await resolveNetwork(reader, config);
  const view = new CloudView(reader, networkId);

  const client = new KubeClient(await loadAccess(config.kubeconfig, config.master));
  started.defer(() => client.close());
  await client.get("/version");

  const engine = stopping(await startEngine(config, client, started));
  const publisher = new Publisher({ patcher: new Patcher(client), recorder: new EventRecorder(client, log), log });
  const publish = publisher.publish.bind(publisher);
  const patcher = new Patcher(client);
  const {
    clusterCidrs,
    addressFamily,
    zoneLabel,
    labelPrefixes,
    serviceDefaults: defaults,
    resyncMs: everyMs,
  } = config;
  const nodeOptions = {
    addressFamily,
    zoneLabel,
    labelPrefixes,
    forwardInternalIps: config.robot?.forwardInternalIps ?? true,
    ...(networkId !== undefined && { networkId }),
  };
  const options = { ...nodeOptions, clusterCidrs, defaults, robots: config.robot !== undefined };
  const robot = robotOf(config);

  // Nothing is rendered before both caches are complete: absence would look like a wish to delete.
  const wake = (loop: Loop) => {
    if (nodes.isSynced && services.isSynced) loop.wake();
  };
  const nodes = new Informer<V1Node>({
    client,
    path: paths.nodes,
    log,
    onChange: (change) => {
      if (concernsNode(change)) wake(nodeLoop);
      if (concernsLifecycle(change)) wake(lifecycleLoop);
      if (concernsCluster(change)) wake(clusterLoop);
    },
  });
  const services = new Informer<V1Service>({
    client,
    path: paths.services,
    log,
    onChange: (change) => {
      if (concernsService(change)) wake(clusterLoop);
    },
  });
  const observed = () => ({
    nodes: [...nodes.items.values()],
    services: config.loadBalancers ? [...services.items.values()] : [],
  });

  const nodeTurn = new NodeTurn({
    nodes: () => observed().nodes,
    view,
    patchNode: patcher.patchNode.bind(patcher),
    ...(robot && { robots: () => robot.inventory() }),
    readNode: patcher.readNode.bind(patcher),
    publish,
    options,
    log,
  });
  const lifecycleTurn = new LifecycleTurn({
    nodes: () => observed().nodes,
    view,
    patchNode: patcher.patchNode.bind(patcher),
    ...(robot && { robotState: (number: number) => robot.state(number) }),
    deleteNode: patcher.deleteNode.bind(patcher),
    publish,
    periodMs: config.nodeMonitorMs,
    log,
  });
  const clusterTurn = new ClusterTurn({
    observed,
    view,
    engine,
    gateway,
    publish,
    options,
    guardLimits: config.guard,
    log,
  });
  const nodeLoop = new Loop({ name: "nodes", work: () => nodeTurn.run(), ...GATHER, everyMs, log });
  const lifecycleLoop = new Loop({ name: "lifecycle", work: () => lifecycleTurn.run(), ...GATHER, everyMs, log });
  const clusterLoop = new Loop({ name: "cluster", work: () => clusterTurn.run(), ...GATHER, everyMs, log });

  const synced = Promise.all([stopping(nodes).start(), stopping(services).start()]);
  await Promise.race([synced, aborted(signal)]);
  if (signal.aborted) return;
  stopping(nodeLoop).wake();
  stopping(lifecycleLoop).wake();
  stopping(clusterLoop).wake();
  log.info(
    { cluster: config.clusterName, nodes: nodes.items.size, services: services.items.size },
    "controller running",
  );
  await aborted(signal);
  log.info("stopping");
}

function upstreamOf({ endpoint, token }: Config): Upstream {
  const userAgent = `lotse/${packageJson.version}`;
  return new Upstream({ endpoint, token: () => token, userAgent, timeoutMs: 30_000 });
}

function robotOf({ robot }: Config): RobotClient | undefined {
  const credentials = robot?.credentials;
  return robot && credentials && new RobotClient({ ...robot, credentials });
}

/** The network's id; also proves that the API can be reached and takes the token. */
async function resolveNetwork(reader: CloudReader, { network, endpoint }: Config): Promise<number | undefined> {
  try {
    if (network === undefined) {
      await reader.probe();
      return undefined;
    }
    const found = await reader.findNetwork(network);
    if (!found)
      throw new ConfigError([`HCLOUD_NETWORK: no network with id or name ${JSON.stringify(network)} in this project`]);
    return found.id;
  } catch (error) {
    if (error instanceof ConfigError) throw error;
    throw new ConfigError([`the Hetzner API at ${endpoint} cannot be used: ${messageOf(error)}`]);
  }
}

async function startEngine(config: Config, client: KubeClient, started: AsyncDisposableStack): Promise<Engine> {
  const isScratch = config.workDir === undefined;
  const directory = config.workDir ?? (await mkdtemp(join(tmpdir(), "lotse-")));
  if (isScratch) started.defer(() => rm(directory, { recursive: true, force: true }));
  const home = { ...findEngine(process.env), directory, isScratch, stack: config.clusterName };
  const store = storeOf(config, home, client);
  const engine = new Engine({
    home,
    deadlineMs: config.runDeadlineMs,
    graceMs: GRACE_MS,
    maxHeapBytes: MAX_WORKER_HEAP,
    ...(store && { store }),
  });
  await engine.start();
  return engine;
}

function storeOf(
  { state, namespace, clusterName }: Config,
  home: EngineHome,
  client: KubeClient,
): StateStore | undefined {
  if (state === "none") return undefined;
  return state === "cluster"
    ? new SecretState(client, namespace, clusterName)
    : new RemoteState(home, state, process.env);
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

function commandLine(): Command {
  const program = new Command("lotse")
    .description("Kubernetes cloud-controller-manager for Hetzner Cloud; every cloud change is a Pulumi change")
    .version(packageJson.version);
  const run = program.command("run").description("run the controller");
  for (const { name, value, doc } of FLAGS) {
    run.option(`${name.length === 1 ? `-${name}, ` : ""}--${name}${value ? ` ${value}` : ""}`, doc);
  }
  run.action(() => start(flagValues(run)));
  return program;
}

/** Values by flag name, as they are written on the command line. */
function flagValues(command: Command): FlagValues {
  const entries = FLAGS.map(({ name }) => {
    const attribute = command.options.find(({ long }) => long === `--${name}`)?.attributeName() ?? name;
    const value: string | boolean | undefined = command.getOptionValue(attribute);
    // Manifests written for Go programs say -v=2.
    return [name, typeof value === "string" ? value.replace(/^=/, "") : value] as const;
  });
  return Object.fromEntries(entries);
}

async function start(flags: FlagValues): Promise<void> {
  const config = loadConfig(flags, process.env);
  const log = await createLogger({ format: config.logFormat, level: config.verbosity >= 2 ? "debug" : "info" });
  for (const warning of config.warnings) log.warn(warning);
  const stop = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());
  await runController(config, log, stop.signal);
}

if (import.meta.main) {
  try {
    await commandLine().parseAsync();
  } catch (error) {
    const lines =
      error instanceof ConfigError ? error.mistakes : [error instanceof CcmError ? error.message : String(error)];
    for (const line of lines) process.stderr.write(`lotse: ${line}\n`);
    process.exitCode = 1;
  }
}
