/** Builds the parts of the controller from its configuration; whatever needs an end is put on the stack of things to end. */
import { randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import packageJson from "../package.json" with { type: "json" };
import { Engine } from "../stacks/engine.ts";
import { RemoteState } from "../stacks/remote-state.ts";
import type { StateStore } from "../stacks/state-store.ts";
import type { EngineHome } from "../stacks/workspace.ts";
import type { RenderOptions } from "./cluster/desired.ts";
import { Publisher } from "./cluster/publish.ts";
import type { Config } from "./config.ts";
import { findEngine } from "./engine-home.ts";
import { ConfigError, messageOf, NotLeader } from "./errors.ts";
import { type Exchange, Gateway } from "./hcloud/gateway.ts";
import { fetchAttachedNetworks } from "./hcloud/metadata.ts";
import { CloudReader } from "./hcloud/reader.ts";
import { traced } from "./hcloud/trace.ts";
import { Upstream } from "./hcloud/upstream.ts";
import { CloudView } from "./hcloud/view.ts";
import { type ClientOptions, KubeClient } from "./kube/client.ts";
import { EventRecorder } from "./kube/events.ts";
import { loadAccess } from "./kube/kubeconfig.ts";
import { ALONE, LeaderLease, type Leadership } from "./kube/lease.ts";
import { SecretState } from "./kube/state-secrets.ts";
import { Patcher } from "./kube/write.ts";
import type { Logger } from "./log.ts";
import { RobotClient } from "./robot/client.ts";
import type { RobotConfig } from "./robot/config.ts";
import { makeScratch } from "./scratch.ts";
import { secretFile } from "./secret-file.ts";

/** How long an interrupted run may take to end by itself. */
const GRACE_MS = 10_000;
const MAX_WORKER_HEAP = 256 * 1024 * 1024;
const API_TIMEOUT_MS = 30_000;

/** Whoever wants to know of requests, and whether writes may go out. */
export interface CloudPorts {
  readonly onExchange?: (exchange: Exchange) => void;
  readonly mayWrite?: () => boolean;
}

/** The Hetzner side: the way out, and what is seen there. Throws a ConfigError when the API or the network is not to be had. */
export async function openCloud(config: Config, log: Logger, ends: AsyncDisposableStack, ports: CloudPorts = {}) {
  const { endpoint, token, tokenFile, robot, debug } = config;
  const upstream = new Upstream({
    endpoint,
    token: tokenFile === undefined ? () => token : secretFile(tokenFile, token, log),
    userAgent: `lotse/${packageJson.version}`,
    timeoutMs: API_TIMEOUT_MS,
    ...(ports.mayWrite && { mayWrite: ports.mayWrite }),
    ...(debug && { trace: (request, answer) => log.info(traced(request, answer), "api exchange") }),
  });
  const gateway = new Gateway(upstream, (exchange) => {
    log.debug(exchange, "api request");
    ports.onExchange?.(exchange);
  });
  await gateway.start();
  ends.defer(() => gateway.stop());
  const reader = new CloudReader(gateway);
  const networkId = await resolveNetwork(reader, config);
  return { gateway, networkId, view: new CloudView(reader, networkId), robot: robot && openRobot(robot, log) };
}

/** Nothing without credentials: then dedicated servers are known by their nodes alone. */
function openRobot(config: RobotConfig, log: Logger): RobotClient | undefined {
  if (!config.credentials) return undefined;
  const { user, password, userFile, passwordFile } = config.credentials;
  const userNow = userFile === undefined ? () => user : secretFile(userFile, user, log);
  const passwordNow = passwordFile === undefined ? () => password : secretFile(passwordFile, password, log);
  const credentials = {
    get user() {
      return userNow();
    },
    get password() {
      return passwordNow();
    },
  };
  return new RobotClient({ ...config, credentials });
}

/** Refuses to start on a machine that is not in the cluster's network: from there, nodes could not be told apart from others'. */
export async function checkAttachment(config: Config, networkId: number | undefined, log: Logger): Promise<void> {
  if (networkId === undefined || !config.checksAttachment) return;
  const attached = await fetchAttachedNetworks(config.metadataEndpoint).catch((error: unknown) => {
    log.warn(
      { error: messageOf(error) },
      "not known whether this machine is attached to the network: no metadata service",
    );
    return undefined;
  });
  if (!attached || attached.includes(networkId)) return;
  const remedy = "attach it, or set HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK=true";
  throw new ConfigError([`HCLOUD_NETWORK: this server is not attached to network ${networkId}: ${remedy}`]);
}

/** Trusts the authorities in a file besides the usual ones, as Go programs do by SSL_CERT_FILE. */
export function trustAuthorities(file: string | undefined): void {
  if (!file) return;
  try {
    setDefaultCACertificates([...getCACertificates("default"), readFileSync(file, "utf8")]);
  } catch (error) {
    throw new ConfigError([`SSL_CERT_FILE: ${messageOf(error)}`]);
  }
}

/** The Kubernetes side, proven to answer. */
export async function openCluster(config: Config, log: Logger, ends: AsyncDisposableStack, ports: ClientOptions = {}) {
  const client = new KubeClient(await loadAccess(config.kubeconfig, config.master), ports);
  ends.defer(() => client.close());
  await client.get("/version");
  const patcher = new Patcher(client);
  const publisher = new Publisher({ patcher, recorder: new EventRecorder(client, log), log });
  return { client, patcher, publish: publisher.publish.bind(publisher) };
}

/** The say in who may write. It has connections of its own: a renewal must not stand in line behind anything. */
export async function openLeadership(config: Config, log: Logger, ends: AsyncDisposableStack): Promise<Leadership> {
  const { lease } = config;
  if (!lease) return ALONE;
  const timeoutMs = Math.round(lease.deadlineMs / 3);
  const client = new KubeClient(await loadAccess(config.kubeconfig, config.master), { timeoutMs });
  ends.defer(() => client.close());
  const recorder = new EventRecorder(client, log);
  const about = {
    kind: "Lease",
    type: "Normal",
    reason: "LeaderElection",
    component: "cloud-controller-manager",
  } as const;
  const leadership = new LeaderLease({
    client,
    config: lease,
    identity: `${hostname()}_${randomUUID()}`,
    log,
    tell: (object, message) => recorder.record({ ...about, object, message }),
  });
  ends.defer(() => leadership.release());
  return leadership;
}

/** The engine, warm, with the state of last time. */
export async function startEngine(config: Config, client: KubeClient, ends: AsyncDisposableStack): Promise<Engine> {
  const engine = await openEngine(config, client, ends);
  await engine.start();
  return engine;
}

/** The engine, complete but cold. What it keeps between processes is read when it starts. */
export async function openEngine(
  config: Config,
  client: KubeClient,
  ends: AsyncDisposableStack,
  mayWrite = () => true,
): Promise<Engine> {
  const isScratch = config.workDir === undefined;
  const directory = config.workDir ?? (await makeScratch());
  if (isScratch) ends.defer(() => rm(directory, { recursive: true, force: true }));
  const home = { ...findEngine(process.env), directory, isScratch, stack: config.clusterName };
  const store = storeOf(config, home, client);
  const engine = new Engine({
    home,
    deadlineMs: config.runDeadlineMs,
    graceMs: GRACE_MS,
    maxHeapBytes: MAX_WORKER_HEAP,
    ...(store && { store: guarded(store, mayWrite) }),
  });
  ends.defer(() => engine.stop());
  return engine;
}

/** A store that keeps nothing of a process that does not lead any more. */
function guarded(store: StateStore, mayWrite: () => boolean): StateStore {
  return {
    load: () => store.load(),
    save: async (text) => {
      if (!mayWrite()) throw new NotLeader();
      await store.save(text);
    },
  };
}

/** What rendering needs to know of the configuration. */
export function renderOptions(config: Config, networkId: number | undefined): RenderOptions {
  const { addressFamily, zoneLabel, labelPrefixes, clusterCidrs, serviceDefaults, robot } = config;
  return {
    addressFamily,
    zoneLabel,
    labelPrefixes,
    clusterCidrs,
    defaults: serviceDefaults,
    robots: robot !== undefined,
    classes: config.loadBalancerClasses,
    forwardInternalIps: robot?.forwardInternalIps ?? true,
    ...(networkId !== undefined && { networkId }),
  };
}

/** The network's id; also proves that the API can be reached and takes the token. */
async function resolveNetwork(reader: CloudReader, { network, endpoint }: Config): Promise<number | undefined> {
  try {
    if (network === undefined) {
      await reader.probe();
      return undefined;
    }
    const found = await reader.findNetwork(network);
    if (found) return found.id;
  } catch (error) {
    throw new ConfigError([`the Hetzner API at ${endpoint} cannot be used: ${messageOf(error)}`]);
  }
  throw new ConfigError([`HCLOUD_NETWORK: no network with id or name ${JSON.stringify(network)} in this project`]);
}

function storeOf(
  { state, namespace, clusterName }: Config,
  home: EngineHome,
  client: KubeClient,
): StateStore | undefined {
  if (state === "none") return undefined;
  if (state === "cluster") return new SecretState(client, namespace, clusterName);
  return new RemoteState(home, state, process.env);
}
