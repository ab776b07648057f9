/** `dev-env status`: what there is, in the cloud and in the cluster, and what it costs. */
import type { V1Node } from "@kubernetes/client-node";
import { messageOf } from "../../controller/diagnostics/errors.ts";
import { CloudApi } from "./cloud-api.ts";
import { type Environment, openCluster } from "./environment.ts";
import { listBalancedServices, listNodes } from "./in-cluster.ts";
import { type Listing, listEnvironment, sizeOf } from "./listing.ts";
import { priceOf } from "./up.ts";

const UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized";

/** Tells how things are; changes nothing. */
export async function status(env: Environment): Promise<void> {
  const { access, config, screen, folder } = env;
  using api = new CloudApi(access);
  const listing = await listEnvironment(api.list, config.name);
  if (sizeOf(listing) === 0) return screen.say("cloud", `nothing of ${config.name} is there`);
  for (const line of describeCloud(listing)) screen.say("cloud", line);
  for (const line of await describeCluster(env)) screen.say("cluster", line);
  if (listing.servers.length > 0) screen.say("cost", await priceOf(env));
  screen.say("hint", `export KUBECONFIG=${folder.kubeconfig}; "npm run dev-env down" removes everything`);
}

/** A line for each server and balancer, and one for what else there is. */
function describeCloud(listing: Listing): readonly string[] {
  const { servers, load_balancers: balancers, ...rest } = listing;
  const others = Object.values(rest)
    .flat()
    .map(({ name }) => name);
  return [
    ...servers.map(
      ({ name, status: state, public_net }) => `server ${name}: ${state}, ${public_net?.ipv4?.ip ?? "no IPv4"}`,
    ),
    ...balancers.map(({ name }) => `balancer ${name}`),
    ...(others.length > 0 ? [`besides: ${others.join(", ")}`] : []),
  ];
}

/** One line for a node: ready or not, and whether a cloud controller has initialised it. */
function describeNode({ metadata, spec, status: state }: V1Node): string {
  const isReady = state?.conditions?.some(({ type, status: value }) => type === "Ready" && value === "True");
  const isWaiting = spec?.taints?.some(({ key }) => key === UNINITIALIZED);
  return `node ${metadata?.name}: ${isReady ? "ready" : "not ready"}, ${isWaiting ? "waits for a cloud controller" : "initialised"}`;
}

async function describeCluster(env: Environment): Promise<readonly string[]> {
  const client = await openCluster(env);
  if (!client) return ['no kubeconfig yet: run "npm run dev-env up" again'];
  try {
    const [nodes, services] = await Promise.all([listNodes(client), listBalancedServices(client)]);
    const addresses = (ingress: readonly { readonly ip?: string; readonly hostname?: string }[] = []) =>
      ingress.map(({ ip, hostname }) => ip ?? hostname).join(", ") || "no address yet";
    return [
      ...nodes.map(describeNode),
      ...services.map(
        ({ metadata, status: state }) =>
          `service ${metadata?.namespace}/${metadata?.name}: ${addresses(state?.loadBalancer?.ingress)}`,
      ),
    ];
  } catch (error) {
    return [`the API server does not answer: ${messageOf(error)}`];
  } finally {
    client.close();
  }
}
