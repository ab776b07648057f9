/** The entry point inside a world's namespaces: a cloud, a cluster, and machines that follow the cloud's servers. */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type Cloud, type CloudOptions, startCloud } from "../cloud/cloud.ts";
import { type Cluster, startCluster } from "../cluster/cluster.ts";
import { run } from "../toolchain/run.ts";
import type { Toolchain } from "../toolchain/toolchain.ts";
import { startControllers } from "./controllers.ts";
import { enclaveOf } from "./enclave.ts";
import { Fleet, type FleetParts } from "./fleet.ts";
import { readHierarchies } from "./machine/cgroups.ts";
import type { ProxySettings } from "./machine/settings.ts";
import { startMetadata } from "./metadata.ts";
import { CLOUD_PORT, CONTROL_PLANE, NETWORK_RANGE, SUBNET } from "./network/addresses.ts";
import { Network } from "./network/network.ts";
import { findProgram } from "./requirements.ts";

/** How to start a world. */
export interface WorldOptions {
  readonly tools: Toolchain;
  /** Names of the servers to begin with. */
  readonly servers?: readonly string[];
  readonly cloud?: CloudOptions;
  /** Whether kubelets wait for a cloud controller. Default true. */
  readonly isCloudExternal?: boolean;
  /** Settings of kube-proxy, by the name of the server. By default nftables, with node ports on all addresses. */
  readonly proxyOf?: (server: string) => ProxySettings;
  readonly say?: FleetParts["say"];
}

/** A running world. Everything in it ends with the process that entered its namespaces. */
export interface World extends AsyncDisposable {
  readonly cloud: Cloud;
  readonly cluster: Cluster;
  readonly network: Network;
  readonly fleet: Fleet;
  /** Id of the private network. */
  readonly networkId: number;
  /** Runs kubectl as administrator, and returns its output. */
  kubectl(...args: readonly string[]): Promise<string>;
  /** Creates or changes objects. */
  apply(...objects: readonly object[]): Promise<void>;
}

/** In nftables mode, node ports answer only on the node's own address by default; public targets need them everywhere. */
export const EVERYWHERE: ProxySettings = { mode: "nftables", nodePortAddresses: ["0.0.0.0/0"] };
const SERVERS = ["node-1", "node-2", "node-3"];
/** Health checks every 1.5 s instead of 15 s. */
const HEALTH_CHECK_SCALE = 0.1;
/** The router's address: the first of the range. */
const GATEWAY = "10.0.0.1";
const DNS = fileURLToPath(new URL("dns.yaml", import.meta.url));

/** Starts a world in the namespaces of this process. Resolves when kubelets have been started, before Nodes are ready. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const { tools, servers = SERVERS, isCloudExternal = true, proxyOf = () => EVERYWHERE, say = () => {} } = options;
  const enclave = enclaveOf(process.env);
  // Hides named network namespaces of this computer, and keeps ours out of its sight.
  await run("mount", ["-t", "tmpfs", "-o", "mode=755", "tmpfs", "/run"]);
  await using parts = new AsyncDisposableStack();
  const network = new Network(GATEWAY);
  await network.start();
  const given = typeof options.cloud?.dataPlane === "object" ? options.cloud.dataPlane : {};
  const traffic = { timeScale: HEALTH_CHECK_SCALE, ...given, isRouted: true };
  const place = { host: CONTROL_PLANE, port: CLOUD_PORT };
  const cloud = parts.adopt(
    await startCloud({ rateLimit: "off", ...options.cloud, ...place, dataPlane: traffic }),
    (it) => it.stop(),
  );
  const networkId = cloud.addNetwork({ name: "cluster", ipRange: NETWORK_RANGE, subnet: SUBNET }).id;
  for (const name of servers) cloud.addServer({ name, network: networkId });
  parts.use(await startMetadata(cloud));
  const cluster = parts.adopt(await startCluster({ machineAddress: CONTROL_PLANE }), (it) => it.stop());
  await startControllers(cluster, tools, isCloudExternal);
  const dir = join(enclave.dir, "machines");
  await mkdir(dir);
  const machine = { tools, hierarchies: await readHierarchies(), runc: findProgram("runc") ?? "runc", isCloudExternal };
  const { cgroup, store } = enclave;
  const fleet = new Fleet({ cloud, cluster, network, networkId, dir, cgroup, store, machine, proxyOf, say });
  parts.adopt(fleet, (it) => it.stop());
  await fleet.start();
  const access = ["--kubeconfig", cluster.kubeconfig];
  const kubectl = (...args: readonly string[]) => run(tools.paths.kubectl, [...access, ...args]);
  const apply = async (...objects: readonly object[]) => {
    const input = JSON.stringify({ apiVersion: "v1", kind: "List", items: objects });
    await run(tools.paths.kubectl, [...access, "apply", "--filename", "-"], { input });
  };
  await kubectl("apply", "--filename", DNS);
  const ends = parts.move();
  return {
    ...{ cloud, cluster, network, fleet, networkId, kubectl, apply },
    [Symbol.asyncDispose]: () => ends.disposeAsync(),
  };
}
