/** What we do in a running cluster besides the stack: set the controller in it aside, and let balancers go in order. */
import { setTimeout as delay } from "node:timers/promises";
import type { V1Deployment, V1NodeList, V1Service, V1ServiceList } from "@kubernetes/client-node";
import { KubeError } from "../../controller/diagnostics/errors.ts";
import type { KubeClient } from "../../controller/kube/client.ts";
import { paths } from "../../controller/kube/paths.ts";
import { DevEnvError } from "./errors.ts";

/** The chart's Deployment. */
const DEPLOYMENT = "/apis/apps/v1/namespaces/kube-system/deployments/lotse";
/** Remembers on the Deployment how many replicas it had: whoever set it aside may be killed before they put it back. */
const REPLICAS_ANNOTATION = "lotse-dev-env/replicas";

/** How long and how often to look. */
export interface Waiting {
  readonly deadlineMs: number;
  readonly intervalMs: number;
}

/** How many replicas of the controller run in the cluster. */
export async function controllerReplicas(client: KubeClient): Promise<number> {
  return (await readDeployment(client))?.status?.readyReplicas ?? 0;
}

/** Scales the controller in the cluster down, and waits until it is gone. Does nothing when there is none. */
export async function setControllerAside(client: KubeClient, { deadlineMs, intervalMs }: Waiting): Promise<void> {
  const deployment = await readDeployment(client);
  if (!deployment) return;
  const replicas = deployment.spec?.replicas ?? 1;
  if (replicas > 0) {
    const annotations = { [REPLICAS_ANNOTATION]: String(replicas) };
    await client.patch(DEPLOYMENT, "merge", { metadata: { annotations }, spec: { replicas: 0 } });
  }
  const deadline = performance.now() + deadlineMs;
  while (((await readDeployment(client))?.status?.replicas ?? 0) > 0) {
    if (performance.now() > deadline)
      throw new DevEnvError("the controller in the cluster does not end: look at its pod");
    await delay(intervalMs);
  }
}

/** Gives the controller in the cluster the replicas back that it had. Does nothing when it was not set aside. */
export async function putControllerBack(client: KubeClient): Promise<void> {
  const deployment = await readDeployment(client);
  const replicas = deployment?.metadata?.annotations?.[REPLICAS_ANNOTATION];
  if (replicas === undefined) return;
  const annotations = { [REPLICAS_ANNOTATION]: null };
  await client.patch(DEPLOYMENT, "merge", { metadata: { annotations }, spec: { replicas: Number(replicas) } });
}

/** The Services that have, or may have, a balancer. */
export async function listBalancedServices(client: KubeClient): Promise<readonly V1Service[]> {
  const { items } = await client.get<V1ServiceList>(paths.services);
  return items.filter(({ spec }) => spec?.type === "LoadBalancer");
}

/**
 * Deletes these Services and waits until the controller has let them go, which it does when their balancers are gone.
 * Gives the names of those that are still there at the deadline.
 */
export async function releaseServices(
  client: KubeClient,
  services: readonly V1Service[],
  { deadlineMs, intervalMs }: Waiting,
): Promise<readonly string[]> {
  const pathOf = ({ metadata }: V1Service) => paths.service(metadata?.namespace ?? "", metadata?.name ?? "");
  for (const service of services) await client.delete(pathOf(service)).catch(unlessGone);
  const deadline = performance.now() + deadlineMs;
  let left = services;
  for (;;) {
    const found = await Promise.all(left.map((service) => client.get<V1Service>(pathOf(service)).catch(unlessGone)));
    left = left.filter((service, index) => found[index]?.metadata?.uid === service.metadata?.uid);
    if (left.length === 0 || performance.now() > deadline) {
      return left.map(({ metadata }) => `${metadata?.namespace}/${metadata?.name}`);
    }
    await delay(intervalMs);
  }
}

/** Nodes and whether they are ready and initialised. */
export async function listNodes(client: KubeClient): Promise<V1NodeList["items"]> {
  return (await client.get<V1NodeList>(paths.nodes)).items;
}

async function readDeployment(client: KubeClient): Promise<V1Deployment | undefined> {
  return client.get<V1Deployment>(DEPLOYMENT).catch(unlessGone);
}

function unlessGone(error: unknown): undefined {
  if (error instanceof KubeError && error.status === 404) return undefined;
  throw error;
}
