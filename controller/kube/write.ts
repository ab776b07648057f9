/** Writes to Services and Nodes, each as the smallest possible patch. */
import type { V1LoadBalancerIngress, V1Node, V1Service } from "@kubernetes/client-node";
import { ifFound, isConflict, isNotFound } from "../diagnostics/errors.ts";
import { FINALIZER } from "../formats/finalizer.ts";
import type { NodePatch } from "../render/node/patch.ts";
import type { KubeClient } from "./client.ts";
import { paths } from "./paths.ts";

/** Patches Services and Nodes. Every patch is bound to the object's UID. */
export class Patcher {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Adds our finalizer through the status subresource, as upstream does, so no permission to change Services is needed. */
  async addFinalizer(service: V1Service): Promise<void> {
    await this.#patchService(service, { metadata: { finalizers: [FINALIZER] } });
  }

  async setIngress(service: V1Service, ingress: readonly V1LoadBalancerIngress[]): Promise<void> {
    await this.#patchService(service, { status: { loadBalancer: { ingress: [...ingress] } } });
  }

  /** Clears the status, then removes our finalizer: without it the object may be gone at once. */
  async removeFinalizer(service: V1Service): Promise<void> {
    if (service.status?.loadBalancer?.ingress?.length) {
      await this.#patchService(service, { status: { loadBalancer: { ingress: null } } });
    }
    await this.disownService(service);
  }

  /** Removes only our finalizer. The status stays, because the load balancer does. */
  async disownService(service: V1Service): Promise<void> {
    await this.#patchService(service, { metadata: { "$deleteFromPrimitiveList/finalizers": [FINALIZER] } });
  }

  /**
   * Writes ProviderID, labels and taints in one patch, then the addresses. Other writers change taints too, so a patch with
   * taints is bound to the node's resourceVersion; on a conflict the caller retries with a newer node.
   */
  async patchNode(node: V1Node, { providerId, labels, annotations, taints, addresses }: NodePatch): Promise<void> {
    const path = paths.node(node.metadata?.name ?? "");
    const uid = node.metadata?.uid;
    if (providerId !== undefined || labels || annotations || taints) {
      await this.#client.patch(path, "merge", {
        metadata: {
          uid,
          ...(taints && { resourceVersion: node.metadata?.resourceVersion }),
          ...(labels && { labels }),
          ...(annotations && { annotations }),
        },
        spec: { ...(providerId !== undefined && { providerID: providerId }), ...(taints && { taints }) },
      });
    }
    if (addresses) await this.#client.patch(`${path}/status`, "merge", { metadata: { uid }, status: { addresses } });
  }

  /** The node as it is now, not from a cache; undefined when it is gone. */
  readNode(name: string): Promise<V1Node | undefined> {
    return ifFound(this.#client.get<V1Node>(paths.node(name)));
  }

  /**
   * Deletes a node, unless it has been written to or replaced by another of the same name since it was read. Returns
   * whether it is gone.
   */
  async deleteNode({ metadata }: V1Node): Promise<boolean> {
    const preconditions = { uid: metadata?.uid, resourceVersion: metadata?.resourceVersion };
    try {
      await ifFound(this.#client.delete(paths.node(metadata?.name ?? ""), { preconditions }));
      return true;
    } catch (error) {
      if (isConflict(error)) return false;
      throw error;
    }
  }

  async setNetworkCondition(node: V1Node, isAvailable: boolean): Promise<void> {
    const now = new Date().toISOString();
    const condition = {
      type: "NetworkUnavailable",
      status: isAvailable ? "False" : "True",
      reason: isAvailable ? "RouteCreated" : "NoRouteCreated",
      message: isAvailable ? "RouteController created a route" : "RouteController failed to create a route",
      lastHeartbeatTime: now,
      lastTransitionTime: now,
    };
    await this.#client.patch(`${paths.node(node.metadata?.name ?? "")}/status`, "strategic-merge", {
      metadata: { uid: node.metadata?.uid },
      status: { conditions: [condition] },
    });
  }

  /** The UID keeps a patch meant for a deleted Service from changing a new one of the same name. */
  async #patchService({ metadata }: V1Service, patch: { metadata?: object; status?: object }): Promise<void> {
    const path = `${paths.service(metadata?.namespace ?? "", metadata?.name ?? "")}/status`;
    try {
      await this.#client.patch(path, "strategic-merge", {
        ...patch,
        metadata: { ...patch.metadata, uid: metadata?.uid },
      });
    } catch (error) {
      // Deleted, or replaced by another of the same name: there is nothing left to write to.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
