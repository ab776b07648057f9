/** The entry point: starts and controls a cluster. */
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ensureToolchain } from "../toolchain/toolchain.ts";
import { type ControlPlane, startControlPlane } from "./control-plane.ts";
import { type ClusterFiles, layOutFiles } from "./files.ts";
import { administrator, groupsOf, renderKubeconfig, type User } from "./kubeconfig.ts";
import { SimNode } from "./node.ts";
import type { NodeOptions } from "./node-object.ts";
import type { ServerProcess } from "./server-process.ts";

export { connect } from "./api.ts";
export type { User } from "./kubeconfig.ts";
export type { SimNode } from "./node.ts";
export type { NodeOptions } from "./node-object.ts";

/** Settings of a cluster. The defaults suit most tests. */
export interface ClusterOptions {
  /** Additional flags of kube-apiserver, which override the default ones. */
  readonly apiServerFlags?: readonly string[];
  /** A user whose requests are logged in `audit.log`, in the cluster's folder. */
  readonly auditedUser?: string;
  /** Address at which real kubelets and pods reach the API server, on port 6443. By default it listens on loopback. */
  readonly machineAddress?: string;
}

/** Starts etcd and kube-apiserver on loopback. Resolves when they are ready. Several clusters can run at once. */
export async function startCluster(options: ClusterOptions = {}): Promise<Cluster> {
  const { paths } = await ensureToolchain(["etcd", "kube-apiserver"]);
  const files = layOutFiles(await mkdtemp(join(tmpdir(), "lotse-cluster-")));
  const plane = await startControlPlane({
    files,
    etcd: paths.etcd,
    kubeApiServer: paths["kube-apiserver"],
    apiServerFlags: options.apiServerFlags ?? [],
    ...(options.auditedUser !== undefined && { auditedUser: options.auditedUser }),
    ...(options.machineAddress !== undefined && { machineAddress: options.machineAddress }),
  });
  const cluster = new Cluster(plane, files);
  await cluster.writeKubeconfig(administrator, files.kubeconfig);
  return cluster;
}

/** A running cluster. Call `stop` at the end; if this process dies first, a watchdog cleans up. */
export class Cluster {
  readonly #plane: ControlPlane;
  readonly #files: ClusterFiles;
  readonly #nodes = new Set<SimNode>();
  #kubeconfigCount = 0;

  constructor(plane: ControlPlane, files: ClusterFiles) {
    this.#plane = plane;
    this.#files = files;
  }

  /** Folder of certificates, data, kubeconfigs and logs (`etcd.log`, `kube-apiserver.log`, `audit.log`). */
  get dir(): string {
    return this.#files.dir;
  }

  /** URL of the API server, which does not change. */
  get url(): string {
    return this.#plane.url;
  }

  /** Path of a kubeconfig with all permissions. */
  get kubeconfig(): string {
    return this.#files.kubeconfig;
  }

  /** Private key that signs service account tokens. */
  get serviceAccountKey(): string {
    return this.#files.serviceAccountKey;
  }

  /** Certificate of the authority that signed all credentials. */
  get authority(): string {
    return this.#files.authority;
  }

  /** The API server, for tests that kill, start, pause or resume it. */
  get apiServer(): ServerProcess {
    return this.#plane.apiServer;
  }

  /** etcd, for the same purpose. */
  get etcd(): ServerProcess {
    return this.#plane.etcd;
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
