/**
 * A simulated cloud and a cluster on this machine, untouched by any controller, with a file of settings for a shell.
 */
import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Cloud, type CloudOptions, startCloud } from "../cloud/cloud.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import type { Toolchain } from "../toolchain/toolchain.ts";
import { Pods } from "./pods.ts";

/** How to start the cloud and the cluster. */
export interface LocalOptions {
  readonly tools: Toolchain;
  /** Path of the shell script that sets the environment; deleted at the end. */
  readonly envFile: string;
  readonly cloud?: CloudOptions;
  /** Receives one line for each thing that was started. */
  readonly say: (topic: string, text: string) => void;
}

/** A running cloud and cluster, and the environment variables for a controller. */
export interface Local {
  readonly cloud: Cloud;
  readonly cluster: Cluster;
  readonly environment: Readonly<Record<string, string>>;
}

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const NODE = join(ROOT, "node_modules", ".bin");
const LAUNCHER = `#!/bin/sh\nexec node '${join(ROOT, "controller", "main.ts")}' "$@"\n`;
const NODES = ["node-1", "node-2", "node-3"];

/**
 * Flags of a controller for this cluster: a single replica needs no lease, and port 0 avoids conflicts between demos.
 */
export const CONTROLLER_FLAGS = ["--cluster-cidr=10.244.0.0/16", "--leader-elect=false", "--secure-port=0"];

/** Starts everything. Each part that was started is added to `ends`, for the caller to dispose of. */
export async function startLocal({ tools, envFile, cloud: options, say }: LocalOptions, ends: AsyncDisposableStack) {
  const cloud = ends.adopt(await startCloud(options), (it) => it.stop());
  const network = cloud.addNetwork({ name: "cluster" });
  const servers = NODES.map((name) => cloud.addServer({ name, network: network.id }));
  say("cloud", `simulated Hetzner Cloud on ${cloud.url}: ${servers.length} servers, network ${network.ip_range}`);

  say("cluster", "starting etcd and kube-apiserver …");
  const cluster = ends.adopt(await startCluster(), (it) => it.stop());
  say("cluster", `API server ready on ${cluster.url}`);
  for (const [index, { name, private_net }] of servers.entries()) {
    const podCidr = `10.244.${index + 1}.0/24`;
    const nodeIp = private_net[0]?.ip;
    await cluster.registerNode({ name, podCidrs: [podCidr], ...(nodeIp && { nodeIp }) });
    say("node", `${name} registered with the taint "uninitialized" and pod range ${podCidr}`);
  }

  const machines = servers.flatMap(({ id, name }) => {
    const address = cloud.backendOf(id);
    return address ? [{ name, address }] : [];
  });
  const pods = ends.adopt(new Pods(cluster.kubeconfig, machines), (it) => it.stop());
  pods.start();

  const environment = environmentOf(cloud, cluster);
  const bin = join(dirname(envFile), "bin");
  await mkdir(bin, { recursive: true });
  await writeFile(join(bin, "lotse"), LAUNCHER, { mode: 0o755 });
  await writeFile(envFile, shellOf(environment, [bin, tools.binDir, NODE]), { mode: 0o600 });
  ends.defer(() => rm(envFile, { force: true }));
  return { cloud, cluster, environment } satisfies Local;
}

function environmentOf(cloud: Cloud, cluster: Cluster): Readonly<Record<string, string>> {
  return {
    KUBECONFIG: cluster.kubeconfig,
    HCLOUD_TOKEN: cloud.token,
    HCLOUD_ENDPOINT: cloud.url,
    HCLOUD_NETWORK: "cluster",
    // The check asks the metadata service, which only servers at Hetzner have.
    HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: "true",
    HCLOUD_METRICS_ENABLED: "false",
  };
}

function shellOf(environment: Readonly<Record<string, string>>, folders: readonly string[]): string {
  const exports = Object.entries(environment).map(([name, value]) => `export ${name}='${value}'`);
  return `${exports.join("\n")}\nexport PATH='${folders.join(":")}':$PATH\n`;
}
