/** Builds the parts of the controller from its configuration; what must be closed is registered on `ends`. */
import { randomUUID } from "node:crypto";
import { rm } from "node:fs/promises";
import { hostname } from "node:os";
import type { V1ConfigMap } from "@kubernetes/client-node";
import { Engine } from "../../stacks/engine/engine.ts";
import { RemoteState } from "../../stacks/state/remote-state.ts";
import type { EngineHome } from "../../stacks/state/workspace.ts";
import type { Config } from "../config/config.ts";
import type { Logger } from "../diagnostics/log.ts";
import { ApprovalGate, parsePending } from "../guard/approval.ts";
import { type ClientOptions, KubeClient } from "../kube/client.ts";
import { OwnConfigMap } from "../kube/config-map.ts";
import { EventRecorder } from "../kube/events.ts";
import { type Change, Informer } from "../kube/informer.ts";
import { type AccessOptions, loadAccess } from "../kube/kubeconfig.ts";
import { ALONE, LeaderLease, type Leadership } from "../kube/lease.ts";
import { SecretState } from "../kube/state-secrets.ts";
import { Patcher } from "../kube/write.ts";
import { EVENTS } from "../publish/events.ts";
import { Publisher, type PublishParts } from "../publish/publisher.ts";
import { StateMirror } from "../record/mirror.ts";
import { AuditRecord } from "../record/record.ts";
import { StatusBoard } from "../record/status-board.ts";
import type { RenderOptions } from "../render/cluster.ts";
import { Access } from "../serve/access.ts";
import { type Served, serveMetrics, serveSecurely } from "../serve/server.ts";
import { findEngine } from "./engine-home.ts";
import { makeScratch } from "./scratch.ts";

/** How long an interrupted run may take to end before it is killed. */
const GRACE_MS = 10_000;
/** How long a prepared engine waits for a change before it ends: about the length of a burst. */
const IDLE_MS = 30_000;

type ClientConfig = AccessOptions & Pick<Config, "kubeconfig">;

async function openClient(config: ClientConfig, ends: AsyncDisposableStack, options?: ClientOptions) {
  const client = new KubeClient(await loadAccess(config.kubeconfig, config), options);
  ends.defer(() => client.close());
  return client;
}

/** The Kubernetes side. Throws when the API server does not respond. */
export async function openCluster(
  config: Config,
  log: Logger,
  ends: AsyncDisposableStack,
  { onEvent, ...ports }: ClientOptions & Pick<PublishParts, "onEvent"> = {},
) {
  const client = await openClient(config, ends, ports);
  await client.get("/version");
  const patcher = new Patcher(client);
  const publisher = new Publisher({ patcher, recorder: new EventRecorder(client, log), onEvent, log });
  return { client, patcher, publish: publisher.publish.bind(publisher) };
}

/** Leader election, on its own connections so that lease renewals never queue behind other requests. */
export async function openLeadership(config: Config, log: Logger, ends: AsyncDisposableStack): Promise<Leadership> {
  const { lease } = config;
  if (!lease) return ALONE;
  const client = await openClient(config, ends, { timeoutMs: Math.round(lease.deadlineMs / 3) });
  const recorder = new EventRecorder(client, log);
  const { type, component } = EVENTS.LeaderElection;
  const about = { kind: "Lease", type, reason: "LeaderElection", component } as const;
  const leadership = new LeaderLease({
    client,
    config: lease,
    identity: `${hostname()}_${randomUUID()}`,
    log,
    announce: (object, message) => recorder.record({ ...about, object, message }),
  });
  ends.defer(() => leadership.release());
  return leadership;
}

/** A started engine for one command, beside which the controller can run. */
export async function startOwnEngine(config: Config, ends: AsyncDisposableStack): Promise<Engine> {
  const { engine } = await openEngine(config, ends);
  await engine.start();
  return engine;
}

/** The engine, not yet started, in a folder that is removed at the end. */
export async function openEngine(config: Config, ends: AsyncDisposableStack, onWorker?: () => void) {
  const directory = await makeScratch();
  ends.defer(() => rm(directory, { recursive: true, force: true }));
  const home = { ...findEngine(process.env), directory, isScratch: true, stack: config.clusterName };
  const engine = new Engine({
    home,
    deadlineMs: config.runDeadlineMs,
    graceMs: GRACE_MS,
    idleMs: IDLE_MS,
    ...(onWorker && { onWorker }),
  });
  ends.defer(() => engine.stop());
  return { engine, home };
}

/** The mirror of units and outputs; undefined when it is kept nowhere. */
export function openMirror(config: Config, parts: MirrorParts, ends: AsyncDisposableStack): StateMirror | undefined {
  const { state, namespace, clusterName } = config;
  const { home, client, mayWrite, log } = parts;
  if (state === "none") return undefined;
  const store =
    state === "cluster" ? new SecretState(client, namespace, clusterName) : new RemoteState(home, state, process.env);
  const mirror = new StateMirror({ stack: clusterName, store, mayWrite, log });
  ends.defer(() => mirror.stop());
  return mirror;
}

interface MirrorParts {
  readonly home: EngineHome;
  readonly client: KubeClient;
  readonly mayWrite: () => boolean;
  readonly log: Logger;
}

/** The ConfigMaps that the controller maintains: the record of changes, its status, and the plan that waits for approval. */
export function openReports(config: Config, client: KubeClient, log: Logger, ends: AsyncDisposableStack) {
  const record = new AuditRecord({ map: new OwnConfigMap(client, config, "audit"), log });
  ends.defer(() => record.stop());
  const board = new StatusBoard({ map: new OwnConfigMap(client, config, "status"), log });
  ends.defer(() => board.stop());
  const map = new OwnConfigMap(client, config, "plan");
  // Even with approval turned off: it removes changes that an earlier controller left waiting.
  const approvals = new ApprovalGate({ mode: config.approval, map, log });
  if (config.approval === "none") return { record, board, approvals };
  /** Calls back when a published change was approved. The controller's own writes leave no approval behind. */
  const watchPlan = (onApproval: () => void) => {
    const onChange = ({ now }: Change<V1ConfigMap>) => {
      if (parsePending(now?.data ?? {}).approved.length > 0) onApproval();
    };
    const watch = new Informer({ client, path: map.watchPath, log, onChange });
    ends.defer(() => watch.stop());
    void watch.start();
  };
  return { record, board, approvals, watchPlan };
}

/** Serves health checks and metrics. */
export async function openServing(config: Config, served: Served, ends: AsyncDisposableStack): Promise<void> {
  const { secure, metrics } = config.serve;
  if (metrics) ends.use(await serveMetrics(metrics, served));
  if (!secure) return;
  const clientFor = (kubeconfig: string | undefined) =>
    openClient(kubeconfig ? { kubeconfig, master: config.master } : config, ends);
  const authentication = await clientFor(secure.authenticationKubeconfig);
  const authorization = await clientFor(secure.authorizationKubeconfig);
  const access = new Access({ authentication, authorization, config: secure, log: served.log });
  ends.use(await serveSecurely(secure, access, served));
}

/** The part of the configuration that rendering depends on. */
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
    adoption: config.adoption,
    forwardInternalIps: robot?.forwardInternalIps ?? true,
    ...(networkId !== undefined && { networkId }),
  };
}
