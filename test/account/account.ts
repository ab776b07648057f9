/** A run on an account: checks the project, creates the machines, works through the list, and removes everything. */
import { mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CoreV1Api } from "@kubernetes/client-node";
import { messageOf } from "../../controller/diagnostics/errors.ts";
import { renderChart } from "../../dev-env/chart/render.ts";
import { type Cluster, connect, startCluster } from "../../dev-env/cluster/cluster.ts";
import { Watchdog } from "../../dev-env/cluster/watchdog.ts";
import { type Access, ProjectApi } from "../../dev-env/project/api.ts";
import { describeFound } from "../../dev-env/project/inventory.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import { ControllerProcess } from "../support/controller-process.ts";
import { grantRights, IDENTITY } from "../support/world.ts";
import { AccountError, type AccountOptions } from "./checks.ts";
import { CLUSTER_CIDR, createMachines } from "./machines.ts";
import { proveEmpty, removeOwn } from "./project.ts";
import { type LabellingProxy, startProxy } from "./proxy.ts";
import { runSteps, type StepResult } from "./run.ts";
import { type Machines, Stage } from "./stage.ts";
import { STEPS } from "./steps/list.ts";

const NAMESPACE = "lotse-test";
/** How long the controller may take to stop. */
const STOP_MS = 15_000;

/** The results of all steps, and how the run ended. */
export interface AccountRun {
  readonly results: readonly StepResult[];
  readonly exchanges: LabellingProxy["exchanges"];
  /** What could not be removed; empty means that the project is empty again. */
  readonly left: string;
  /** Why the steps could not be run at all. */
  readonly failure?: unknown;
}

/** Runs the list in an empty project. Whatever happens, removes everything and proves that the project is empty. */
export async function runAccount(access: Access, api: ProjectApi, options: AccountOptions): Promise<AccountRun> {
  const { say, only = [] } = options;
  const unknown = only.filter((id) => !STEPS.some((step) => step.id === id));
  if (unknown.length > 0) {
    const known = STEPS.map(({ id }) => id).join(", ");
    throw new AccountError(`--only: there is no step ${unknown.join(", ")}; the steps are ${known}`);
  }
  const proxy = await startProxy(access, `run-${Date.now()}`);
  let results: readonly StepResult[] = [];
  let failure: unknown;
  try {
    results = await runHere(proxy, options);
  } catch (error) {
    failure = options.signal.aborted ? options.signal.reason : error;
  }
  // Nothing can be created from here on.
  await proxy.close();
  say("cleaning", "removing everything …");
  const left = await removeAll(api, options).catch((error: unknown) => `an unknown rest (${messageOf(error)})`);
  return { results, exchanges: proxy.exchanges, left, ...(failure !== undefined && { failure }) };
}

/** Removes what the run has created. Returns what is left. */
async function removeAll(api: ProjectApi, { say, domain }: AccountOptions): Promise<string> {
  const removed = await removeOwn(api);
  const left = describeFound(await proveEmpty(api, domain));
  if (left === "") say("cleaning", `${removed} resources removed, the project is empty`);
  return left;
}

async function runHere(proxy: LabellingProxy, options: AccountOptions): Promise<readonly StepResult[]> {
  const { say, signal } = options;
  await using parts = new AsyncDisposableStack();
  await ensureToolchain(["pulumi", "pulumi-resource-hcloud", "etcd", "kube-apiserver"]);
  const cluster = parts.adopt(await startCluster(), (it) => it.stop());
  await grantRights(cluster, await renderChart({ tlsSecrets: { enabled: true } }));
  say("cluster", `API server ready on ${cluster.url}`);
  const api = parts.use(new ProjectApi(proxy.access, "test-account"));
  signal.throwIfAborted();
  const machines = await createMachines({ ...options, api, cluster });
  say("machines", `network ${machines.networkId} with ${machines.nodes.map(({ server }) => server.name).join(", ")}`);
  const controller = await startController({ cluster, proxy, machines, resync: options.resync }, parts);
  const core = connect(cluster.kubeconfig, CoreV1Api);
  await core.createNamespace({ body: { metadata: { name: NAMESPACE } } });
  const stage = new Stage({ ...options, core, namespace: NAMESPACE, cloud: api, machines });
  // The servers run no pods.
  const chosen = STEPS.filter(({ id, needs }) => needs !== "traffic" && (options.only?.includes(id) ?? true));
  const steps = runSteps(chosen, stage, {
    offers: ["cluster", "project"],
    calls: () => proxy.exchanges.length,
    report: (result) => say(result.outcome, `${result.id}: ${result.message ?? result.title}`),
  });
  const ended = controller.ended.then((code) => {
    throw new AccountError(`the controller has exited with ${code}. The end of its log:\n${controller.tail(20)}`);
  });
  return await Promise.race([steps, ended]);
}

interface ControllerParts {
  readonly cluster: Cluster;
  readonly proxy: LabellingProxy;
  readonly machines: Machines;
  readonly resync: string;
}

/** Starts the controller with its rights in a cluster, and without the token. A watchdog ends it with this process. */
async function startController({ cluster, proxy, machines, resync }: ControllerParts, parts: AsyncDisposableStack) {
  const scratch = await mkdtemp(join(tmpdir(), "lotse-test-account-"));
  const watchdog = parts.adopt(new Watchdog(scratch), (it) => it.stop());
  const kubeconfig = await cluster.kubeconfigFor(IDENTITY);
  const flags = ["--cluster-cidr", CLUSTER_CIDR, "--leader-elect=false", "--secure-port=0", "--resync", resync];
  const controller = new ControllerProcess({
    flags: ["--kubeconfig", kubeconfig, ...flags],
    env: {
      HCLOUD_TOKEN: proxy.access.token,
      HCLOUD_ENDPOINT: proxy.access.endpoint,
      HCLOUD_NETWORK: String(machines.networkId),
      // It runs on no server of the project.
      HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: "true",
      HCLOUD_METRICS_ENABLED: "false",
      LOTSE_TLS_SECRETS: "true",
      TMPDIR: scratch,
    },
  });
  watchdog.watch(controller.pid);
  parts.defer(async () => {
    // Nothing may delay the removal of what costs money. A killed controller cannot reach the API.
    const kill = setTimeout(() => controller.signal("SIGKILL"), STOP_MS);
    await controller.stop();
    clearTimeout(kill);
    watchdog.forget(controller.pid);
  });
  return controller;
}
