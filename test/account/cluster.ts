/** `npm run test:e2e`: the part of the suite that runs in an existing cluster, with any cloud-controller-manager for Hetzner. */
import { randomBytes } from "node:crypto";
import { mkdir, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { CoreV1Api } from "@kubernetes/client-node";
import { Command } from "commander";
import { CloudError, messageOf } from "../../controller/diagnostics/errors.ts";
import { ignoreMissing } from "../../dev-env/cluster/api.ts";
import { connect } from "../../dev-env/cluster/cluster.ts";
import { DEFAULT_ENDPOINT, explainCloudError, ProjectApi } from "../../dev-env/project/api.ts";
import { Screen } from "../../dev-env/terminal/screen.ts";
import { parseSeconds } from "./checks.ts";
import { renderJUnit, summaryOf } from "./report.ts";
import { runSteps } from "./run.ts";
import { Stage, type StageParts } from "./stage.ts";
import { STEPS } from "./steps/list.ts";
import type { Need } from "./steps/step.ts";

interface Flags {
  readonly kubeconfig: string;
  readonly location?: string;
  readonly timeout: number;
  readonly junit: string;
  readonly image?: string;
  readonly clean?: true;
}

/** Label of the suite's namespaces. */
const LABEL = "app.kubernetes.io/managed-by=lotse-e2e";
const CLEANING_MS = 300_000;

const flags = new Command("npm run test:e2e --")
  .description(
    "Checks the nodes and load balancers of an existing cluster with any cloud-controller-manager for Hetzner",
  )
  .option("--kubeconfig <file>", "the cluster", process.env.KUBECONFIG || join(homedir(), ".kube", "config"))
  .option("--location <location>", "location of load balancers (default: that of a Node)")
  .option("--timeout <seconds>", "how long a step may wait (default: 180)", parseSeconds, 180_000)
  .option(
    "--junit <file>",
    "where the results are written",
    fileURLToPath(new URL("../../.lotse/e2e.xml", import.meta.url)),
  )
  .option(
    "--image <image>",
    "an HTTP server on port 80, such as nginx: sends a request through a load balancer to a pod",
  )
  .option("--clean", "remove what killed runs have left, and nothing else")
  .parse()
  .opts<Flags>();

const screen = new Screen(process.stdout);
const stop = new AbortController();

try {
  process.exitCode = await main();
} catch (error) {
  process.stderr.write(`test:e2e: ${messageOf(error)}\n`);
  process.exitCode = 1;
}

async function main(): Promise<number> {
  const core = await open();
  if (flags.clean) return clean(core);
  const { items: left } = await core.listNamespace({ labelSelector: LABEL });
  if (left.length > 0)
    screen.say(
      "leftovers",
      `${left.map(({ metadata }) => metadata?.name).join(", ")}: remove them with --clean, unless another run is under way`,
    );
  for (const name of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(name, () => stop.abort(new Error("stopped")));
  using cloud = await openProject();
  const namespace = `lotse-e2e-${randomBytes(3).toString("hex")}`;
  const [key = "", value = ""] = LABEL.split("=");
  await core.createNamespace({ body: { metadata: { name: namespace, labels: { [key]: value } } } });
  const parts: StageParts = {
    core,
    namespace,
    location: flags.location ?? (await locationOf(core)),
    signal: stop.signal,
    timeoutMs: flags.timeout,
    ...(cloud && { cloud }),
    ...(flags.image !== undefined && { image: flags.image }),
  };
  try {
    return await run(parts);
  } finally {
    await remove(core, namespace);
  }
}

/** A client of the cluster. Throws unless it answers. */
async function open(): Promise<CoreV1Api> {
  try {
    const core = connect(flags.kubeconfig, CoreV1Api);
    await core.listNode({ limit: 1 });
    return core;
  } catch (error) {
    const cause = error instanceof Error && error.cause ? messageOf(error.cause) : messageOf(error);
    throw new Error(`the cluster of ${flags.kubeconfig} does not answer (${cause}): check --kubeconfig`, {
      cause: error,
    });
  }
}

/** Reads the project if there is a token. Throws if it is not valid. */
async function openProject(): Promise<ProjectApi | undefined> {
  const { HCLOUD_TOKEN: token = "", HCLOUD_ENDPOINT: endpoint = DEFAULT_ENDPOINT } = process.env;
  if (token === "") {
    screen.say("project", "HCLOUD_TOKEN is not set: load balancers are only seen through the cluster");
    return undefined;
  }
  const api = new ProjectApi({ endpoint, token }, "test-account");
  await api.list("load_balancers").catch((error: unknown) => {
    throw error instanceof CloudError ? new Error(explainCloudError(error, endpoint)) : error;
  });
  return api;
}

/** The location of the cluster's Nodes; empty if they do not say. */
async function locationOf(core: CoreV1Api): Promise<string> {
  const { items } = await core.listNode();
  const regions = items.map(({ metadata }) => metadata?.labels?.["topology.kubernetes.io/region"]);
  return regions.find((region) => region !== undefined) ?? "";
}

async function run(parts: StageParts): Promise<number> {
  const offers: readonly Need[] = parts.image === undefined ? ["cluster"] : ["cluster", "traffic"];
  const steps = STEPS.filter(({ needs }) => needs !== "project");
  const results = await runSteps(steps, new Stage(parts), {
    offers,
    calls: () => 0,
    report: (result) => screen.say(result.outcome, `${result.id}: ${result.message ?? result.title}`),
  });
  await mkdir(dirname(flags.junit), { recursive: true });
  await writeFile(flags.junit, renderJUnit("lotse-e2e", results));
  const seconds = results.reduce((sum, result) => sum + result.seconds, 0);
  screen.say("report", `${flags.junit}: ${summaryOf(results, seconds)}`);
  if (stop.signal.aborted) return 130;
  return results.some(({ outcome }) => outcome === "failed") ? 1 : 0;
}

async function clean(core: CoreV1Api): Promise<number> {
  const { items } = await core.listNamespace({ labelSelector: LABEL });
  for (const { metadata } of items) await remove(core, metadata?.name ?? "");
  screen.say("leftovers", items.length === 0 ? "there are none" : `${items.length} namespaces removed`);
  return 0;
}

/** Removes a namespace of the suite: first its Services, so that load balancers are gone when this ends. */
async function remove(core: CoreV1Api, namespace: string): Promise<void> {
  const { signal } = new AbortController();
  const stage = new Stage({ core, namespace, location: "", signal, timeoutMs: CLEANING_MS });
  const { items } = await core.listNamespacedService({ namespace });
  const names = items.map(({ metadata }) => metadata?.name ?? "");
  screen.say("cleaning", `namespace ${namespace}${names.length > 0 ? ` with the Services ${names.join(", ")}` : ""}`);
  await Promise.all(names.map((name) => stage.remove(name)));
  await core.deleteNamespace({ name: namespace }).catch(ignoreMissing);
}
