/** A simulated node: registers, renews its Lease and reports its status. */
import { CoordinationV1Api, CoreV1Api, type V1Node, VersionApi } from "@kubernetes/client-node";
import { abortable, connect, ignoreMissing, isStatus, mergePatch } from "./api.ts";
import { leaseNamespace, type NodeOptions, renderConditions, renderLease, renderNode } from "./node-object.ts";
import { repeat } from "./repeat.ts";

const defaultLeaseRenewMs = 10_000;
const defaultStatusReportMs = 5 * 60_000;
const requestTimeoutMs = 10_000;

/** Credentials for a node. */
export interface NodeAccess {
  /** Kubeconfig of the node itself, `system:node:NAME`. */
  readonly kubeconfig: string;
  /** Kubeconfig for what administrators and kube-controller-manager do. */
  readonly adminKubeconfig: string;
}

/** A node without a machine. It behaves like a kubelet, and has the permissions of a node only. */
export class SimNode {
  readonly name: string;
  readonly #core: CoreV1Api;
  readonly #leases: CoordinationV1Api;
  readonly #admin: CoreV1Api;
  readonly #version: VersionApi;
  readonly #options: NodeOptions;
  readonly #ending = new AbortController();
  #loops: Promise<unknown> = Promise.resolve();
  #isReady: boolean;
  readonly #started = new Date();
  #changed = this.#started;

  private constructor(options: NodeOptions, access: NodeAccess) {
    this.name = options.name;
    this.#options = options;
    this.#isReady = options.isReady ?? true;
    this.#core = connect(access.kubeconfig, CoreV1Api);
    this.#leases = connect(access.kubeconfig, CoordinationV1Api);
    this.#version = connect(access.kubeconfig, VersionApi);
    this.#admin = connect(access.adminKubeconfig, CoreV1Api);
  }

  /** Resolves when the Node and its Lease exist. An existing Node of that name is adopted unchanged. */
  static async register(options: NodeOptions, access: NodeAccess): Promise<SimNode> {
    const node = new SimNode(options, access);
    await node.#register();
    return node;
  }

  /** Sets the Ready condition, and reports it at once. */
  async setReady(isReady: boolean): Promise<void> {
    if (isReady !== this.#isReady) this.#changed = new Date();
    this.#isReady = isReady;
    await this.#reportStatus();
  }

  /** Stops the kubelet, as if the machine were switched off: the Node stays, and its Lease expires. */
  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#loops;
  }

  /** Stops the kubelet and deletes Node and Lease, as an administrator would. */
  async delete(): Promise<void> {
    await this.stop();
    const name = this.name;
    // The garbage collector, which would delete the Lease with its owner, is part of kube-controller-manager.
    const lease = this.#leases.deleteNamespacedLease({ name, namespace: leaseNamespace });
    await Promise.all([lease, this.#admin.deleteNode({ name })].map((request) => request.catch(ignoreMissing)));
  }

  async #register(): Promise<void> {
    const { podCidrs, leaseRenewMs, statusReportMs } = this.#options;
    const node = await this.#createNode();
    if (podCidrs?.[0] !== undefined) {
      const body = { spec: { podCIDR: podCidrs[0], podCIDRs: podCidrs } };
      await this.#admin.patchNode({ name: this.name, body }, mergePatch());
    }
    await this.#renewLease(node, this.#deadline());
    const { signal } = this.#ending;
    this.#loops = Promise.all([
      repeat(leaseRenewMs ?? defaultLeaseRenewMs, () => this.#renewLease(node, this.#deadline()), signal),
      repeat(statusReportMs ?? defaultStatusReportMs, () => this.#reportStatus(), signal),
    ]);
  }

  async #createNode(): Promise<V1Node> {
    const { gitVersion } = await this.#version.getCode();
    try {
      return await this.#core.createNode({ body: renderNode(this.#options, gitVersion, new Date()) });
    } catch (error) {
      if (!isStatus(error, 409)) throw error;
      await this.#reportStatus();
      return this.#core.readNode({ name: this.name });
    }
  }

  /** Reports the conditions only, because the cloud-controller-manager owns the addresses. */
  async #reportStatus(): Promise<void> {
    const moments = { now: new Date(), started: this.#started, changed: this.#changed };
    const body = { status: { conditions: renderConditions(this.#isReady, moments) } };
    await this.#core.patchNodeStatus({ name: this.name, body }, mergePatch(this.#deadline()));
  }

  async #renewLease(node: V1Node, signal: AbortSignal): Promise<void> {
    const target = { name: this.name, namespace: leaseNamespace };
    const lease = renderLease(node, new Date());
    try {
      await this.#leases.patchNamespacedLease({ ...target, body: { spec: lease.spec } }, mergePatch(signal));
    } catch (error) {
      if (!isStatus(error, 404)) throw error;
      await this.#leases.createNamespacedLease({ namespace: leaseNamespace, body: lease }, abortable(signal));
    }
  }

  /** Aborts a request that takes too long, or that is in flight when the kubelet stops. */
  #deadline(): AbortSignal {
    return AbortSignal.any([this.#ending.signal, AbortSignal.timeout(requestTimeoutMs)]);
  }
}
