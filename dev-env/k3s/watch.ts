/** `dev-env watch`: runs the controller from the sources, and restarts it when they change. */
import { once } from "node:events";
import type { V1Deployment } from "@kubernetes/client-node";
import { ConfigError, ifFound } from "../../controller/diagnostics/errors.ts";
import type { KubeClient } from "../../controller/kube/client.ts";
import { type Patience, retry } from "../cluster/repeat.ts";
import { FLAGS_OUTSIDE, spawnController, VARIABLES_OUTSIDE } from "../terminal/controller.ts";
import { type Environment, openCluster } from "./environment.ts";
import { DevEnvError } from "./errors.ts";

/** The chart's Deployment. */
const DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/lotse";
/** Keeps the number of replicas on the Deployment: the process that paused it may be killed before it resumes it. */
const REPLICAS = "lotse-dev-env/replicas";
const PATIENCE = { deadlineMs: 90_000, intervalMs: 1_000 };

/** Runs until the user stops it. Meanwhile a controller in the cluster is paused. */
export async function watch(env: Environment): Promise<void> {
  const { screen, name, signal } = env;
  using client = await openCluster(env);
  if (!client) throw new ConfigError([`${name} has no cluster: run "npm run dev-env up" first`]);
  await using ends = new AsyncDisposableStack();
  ends.defer(() => resumeController(client)); // first, because pausing may fail after the change
  const pause = () => pauseController(client, { ...PATIENCE, signal });
  await screen.during("cluster", "pausing the controller in the cluster", pause);
  screen.say("watch", "the controller runs from the sources; Ctrl-C ends it");
  const { ended, stop } = startController(env, true);
  await Promise.race([ended, signal.aborted || once(signal, "abort")]);
  await stop();
  screen.say("watch", "stopped; a controller in the cluster takes over again");
}

/** Starts the controller on this machine; `isWatched` restarts it when its sources change. The screen shows what it does. */
export function startController({ folder, name, settings, variables, screen }: Environment, isWatched = false) {
  return spawnController({
    flags: [...FLAGS_OUTSIDE, "--kubeconfig", folder.kubeconfig, "--cluster-cidr", settings.pods],
    env: { ...variables, ...VARIABLES_OUTSIDE, HCLOUD_NETWORK: `${name}-network` },
    isWatched,
    show: screen.show,
  });
}

/** Scales the controller in the cluster to zero and waits until its pods are gone. Does nothing if there is none. */
export async function pauseController(client: KubeClient, patience: Patience): Promise<void> {
  const deployment = await readDeployment(client);
  const { replicas = 1 } = deployment?.spec ?? { replicas: 0 };
  if (replicas > 0) {
    const metadata = { annotations: { [REPLICAS]: String(replicas) } };
    await client.patch(DEPLOYMENT, "merge", { metadata, spec: { replicas: 0 } });
  }
  await retry(async () => {
    const { replicas: left = 0 } = (await readDeployment(client))?.status ?? {};
    if (left > 0) throw new DevEnvError("the controller in the cluster has not stopped: check its pod");
  }, patience);
}

/** Restores the replicas of the controller in the cluster. Does nothing if it was not paused. */
export async function resumeController(client: KubeClient): Promise<void> {
  const replicas = (await readDeployment(client))?.metadata?.annotations?.[REPLICAS];
  if (replicas === undefined) return;
  const metadata = { annotations: { [REPLICAS]: null } };
  await client.patch(DEPLOYMENT, "merge", { metadata, spec: { replicas: Number(replicas) } });
}

const readDeployment = (client: KubeClient) => ifFound(client.get<V1Deployment>(DEPLOYMENT));
