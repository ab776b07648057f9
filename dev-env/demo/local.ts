/**
 * A simulated cloud and a cluster on this machine, untouched by any controller, with a file of settings for a shell.
 */
import type { Cloud, CloudOptions } from "../cloud/cloud.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { Watchdog } from "../cluster/watchdog.ts";
import { FLAGS_OUTSIDE } from "../terminal/controller.ts";
import type { Toolchain } from "../toolchain/toolchain.ts";
import { environmentOf, shellSettings, writeEnvFile } from "./env-file.ts";
import { Machines } from "./machines.ts";
import { Pods } from "./pods.ts";
import { type Say, startCloudWithTraffic, watchPorts } from "./traffic.ts";

/** How to start the cloud and the cluster. */
export interface LocalOptions {
  readonly tools: Toolchain;
  /** Folder for the shell script that sets the environment, which is deleted at the end, and for the commands in it. */
  readonly folder: string;
  readonly cloud?: CloudOptions;
  /** Receives one line for each thing that was started. */
  readonly say: Say;
}

/** A running cloud and cluster, and the environment variables for a controller. */
export interface Local {
  readonly cloud: Cloud;
  readonly cluster: Cluster;
  readonly environment: Readonly<Record<string, string>>;
  /** Path of the shell script that sets the environment. */
  readonly envFile: string;
}

const NODES = ["node-1", "node-2", "node-3"];

/** Flags of a controller for this cluster. */
export const CONTROLLER_FLAGS = ["--cluster-cidr=10.244.0.0/16", ...FLAGS_OUTSIDE];

/** Starts everything. Each part that was started is added to `ends`, for the caller to dispose of. */
export async function startLocal(
  { tools, folder, cloud: options = {}, say }: LocalOptions,
  ends: AsyncDisposableStack,
) {
  const cloud = ends.adopt(await startCloudWithTraffic(options, say), (it) => it.stop());
  const network = cloud.addNetwork({ name: "cluster" });
  for (const name of NODES) cloud.addServer({ name, network: network.id });
  say("cloud", `simulated Hetzner Cloud on ${cloud.url}: ${NODES.length} servers, network ${network.ip_range}`);

  say("cluster", "starting etcd and kube-apiserver …");
  const cluster = ends.adopt(await startCluster(), (it) => it.stop());
  say("cluster", `API server ready on ${cluster.url}`);
  const pods = ends.adopt(new Pods(cluster.kubeconfig), (it) => it.stop());
  pods.start();
  const machines = ends.adopt(new Machines({ cloud, cluster, pods, network: network.id, say }), (it) => it.stop());
  await machines.start();
  ends.use(watchPorts(cloud, (uid) => pods.serviceOf(uid), say));

  const environment = environmentOf(cloud, cluster);
  const envFile = await writeEnvFile(folder, await shellSettings(environment, tools, folder));
  ends.adopt(new Watchdog(envFile), (it) => it.stop()); // deletes the script, even if this process is killed
  return { cloud, cluster, environment, envFile } satisfies Local;
}
