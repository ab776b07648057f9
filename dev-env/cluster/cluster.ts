/** The entry point: starts and controls a cluster. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureToolchain } from "../toolchain/toolchain.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { type ClusterFiles, layOutFiles } from "./files.ts";
import type { ClusterOptions } from "./flags.ts";
import { administrator, groupsOf, renderKubeconfig, type User } from "./kubeconfig.ts";
import { SimNode } from "./node.ts";
import type { NodeOptions } from "./node-object.ts";
import type { ServerProcess } from "./server-process.ts";

export { connect } from "./api.ts";
export type { User } from "./kubeconfig.ts";
export type { SimNode } from "./node.ts";
export type { NodeOptions } from "./node-object.ts";

/** Starts etcd and kube-apiserver on loopback. Resolves when they are ready. Several clusters can run at once. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { paths } = await ensureToolchain(["etcd", "kube-apiserver"]);
  const files = layOutFiles(await mkdtemp(join(tmpdir(), "lotse-cluster-")));
  const plane = await startControlPlane({ ...options, files, paths });
  const cluster = new Cluster(plane, files);
  await cluster.writeKubeconfig(administrator, files.kubeconfig);
  return cluster;
}

/** A running cluster. Call `stop` at the end; if this process dies first, a watchdog cleans up. */
export class Cluster {
  /** Folder of certificates, data, kubeconfigs and logs (`etcd.log`, `kube-apiserver.log`, `audit.log`). */
  readonly dir: string;
  /** URL of the API server, which does not change. */
  readonly url: string;
  /** Path of a kubeconfig with all permissions. */
  readonly kubeconfig: string;
  /** Private key that signs service account tokens. */
  readonly serviceAccountKey: string;
  /** Certificate of the authority that signed all credentials. */
  readonly authority: string;
  /** The API server, for tests that kill, start, pause or resume it. */
  readonly apiServer: ServerProcess;
  /** etcd, for the same purpose. */
  readonly etcd: ServerProcess;
  readonly #plane: ControlPlane;
  readonly #nodes = new Set<SimNode>();
  #kubeconfigCount = 0;

  constructor(plane: ControlPlane, { dir, kubeconfig, serviceAccountKey, authority }: ClusterFiles) {
    this.dir = dir;
    this.url = plane.url;
    this.kubeconfig = kubeconfig;
    this.serviceAccountKey = serviceAccountKey;
    this.authority = authority;
    this.apiServer = plane.apiServer;
    this.etcd = plane.etcd;
    this.#plane = plane;
  }

  /**
   * Writes a new kubeconfig for a user, with the permissions that RBAC grants, and returns its path. A service account
   * is the user `system:serviceaccount:NAMESPACE:NAME`; the ServiceAccount object need not exist.
   */
  async kubeconfigFor(user: User): Promise<string> {
    const readableName = user.name.replaceAll(/[^\w.-]+/g, "-");
    return this.writeKubeconfig(user, join(this.dir, `kubeconfig-${++this.#kubeconfigCount}-${readableName}`));
  }

  /** Writes a kubeconfig for a user to a file and returns its path. */
  async writeKubeconfig(user: User, file: string): Promise<string> {
    const { authority, url } = this.#plane;
    const subject = { commonName: user.name, organizations: groupsOf(user) };
    const credential = authority.issue(subject, { kind: "client" });
    await writeFile(file, renderKubeconfig(url, authority.certificate, user, credential), { mode: 0o600 });
    return file;
  }

  /** Adds a node, which reports until it or the cluster is stopped. Resolves when its Node and Lease exist. */
  async registerNode(options: NodeOptions): Promise<SimNode> {
    const user = { name: `system:node:${options.name}`, groups: ["system:nodes"] };
    const access = { kubeconfig: await this.kubeconfigFor(user), adminKubeconfig: this.kubeconfig };
    const node = await SimNode.register(options, access);
    this.#nodes.add(node);
    return node;
  }

  /** Kills the API server, and starts it again with the same port and data. */
  async restartApiServer(): Promise<void> {
    await this.apiServer.kill();
    await this.apiServer.start();
  }

  /** Stops nodes and processes, and deletes the folder. May be called twice. */
  async stop(): Promise<void> {
    await Promise.all([...this.#nodes].map((node) => node.stop()));
    await this.#plane.stop();
  }
}
