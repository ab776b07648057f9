/** `dev-env down`: removes everything, from wherever the environment is. */
import { messageOf } from "../../controller/diagnostics/errors.ts";
import type { KubeClient } from "../../controller/kube/client.ts";
import { destroyCloud } from "./cloud-stage.ts";
import { type Environment, openCloudStage, openCluster } from "./environment.ts";
import { controllerReplicas, listBalancedServices, releaseServices } from "./in-cluster.ts";

/** How long the controller may take to let all balancers go. */
const RELEASE = { deadlineMs: 180_000, intervalMs: 1_000 };

/**
 * Removes the environment. The Services go first, so that the controller takes its balancers away in order; whatever the
 * state of the cluster is, the cloud half then removes all that is left. What is in the cluster goes with the servers.
 */
export async function down(env: Environment): Promise<void> {
  const { screen, folder, config } = env;
  const uids = await release(env);
  await screen.during("cloud", "servers, network and the rest", async () =>
    destroyCloud(await openCloudStage(env, uids)),
  );
  await folder.remove();
  screen.say("gone", `nothing of ${config.name} is left in the cloud`);
}

/** Lets balancers go through the cluster, as far as there is one; gives the uids of their Services. */
async function release(env: Environment): Promise<readonly string[]> {
  const { screen } = env;
  const client = await openCluster(env).catch(() => undefined);
  if (!client) return [];
  try {
    return await screen.during("cluster", "asking the controller to remove its balancers", () =>
      releaseBalancers(client, (text) => screen.say("cluster", text)),
    );
  } catch (error) {
    screen.say("cluster", `cannot be asked (${messageOf(error)}): its balancers are removed without it`);
    return [];
  } finally {
    client.close();
  }
}

/** Deletes Services with balancers and waits for their controller, if one runs. */
export async function releaseBalancers(
  client: KubeClient,
  tell: (text: string) => void,
  waiting = RELEASE,
): Promise<readonly string[]> {
  const services = await listBalancedServices(client);
  const uids = services.flatMap(({ metadata }) => metadata?.uid ?? []);
  if (services.length === 0) return uids;
  const isServed = (await controllerReplicas(client)) > 0;
  const left = await releaseServices(client, services, { ...waiting, ...(!isServed && { deadlineMs: 0 }) });
  const released = services.length - left.length;
  if (released > 0) tell(`${released} of ${services.length} Services released by the controller`);
  if (left.length > 0) tell(`${left.join(", ")}: removed with the rest`);
  return uids;
}
