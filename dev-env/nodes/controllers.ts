/** kube-controller-manager and kube-scheduler of a world. */
import { join } from "node:path";
import type { Cluster } from "../cluster/cluster.ts";
import { ServerProcess } from "../cluster/server-process.ts";
import type { Toolchain } from "../toolchain/toolchain.ts";
import { POD_RANGE } from "./network/addresses.ts";

/** Starts both. They retry until the API server is available, so that their start needs no waiting. */
export async function startControllers(cluster: Cluster, tools: Toolchain, isCloudExternal: boolean): Promise<void> {
  await Promise.all([
    startComponent(cluster, tools, "kube-scheduler", []),
    startComponent(cluster, tools, "kube-controller-manager", [
      ...(isCloudExternal ? ["--cloud-provider=external"] : []),
      "--allocate-node-cidrs=true",
      `--cluster-cidr=${POD_RANGE}`,
      "--configure-cloud-routes=false",
      // By default, a Node is NotReady only 50 s after its kubelet has stopped.
      "--node-monitor-period=1s",
      "--node-monitor-grace-period=8s",
      "--use-service-account-credentials=true",
      `--service-account-private-key-file=${cluster.serviceAccountKey}`,
      `--root-ca-file=${cluster.authority}`,
    ]),
  ]);
}

async function startComponent(
  cluster: Cluster,
  tools: Toolchain,
  name: "kube-scheduler" | "kube-controller-manager",
  flags: readonly string[],
): Promise<void> {
  const kubeconfig = await cluster.kubeconfigFor({ name: `system:${name}` });
  const access = ["", "authentication-", "authorization-"].map((use) => `--${use}kubeconfig=${kubeconfig}`);
  const server = new ServerProcess({
    name,
    command: tools.paths["kube-node"],
    args: [name, ...access, "--bind-address=127.0.0.1", "--leader-elect=false", ...flags],
    dir: cluster.dir,
    logFile: join(cluster.dir, `${name}.log`),
  });
  await server.start();
}
