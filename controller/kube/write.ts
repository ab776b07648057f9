/** The patcher: the few things we write to Services and Nodes, each as the smallest patch that does it. */
import type { V1LoadBalancerIngress, V1Node, V1Service } from "@kubernetes/client-node";
import { ifFound, isConflict, isNotFound } from "../diagnostics/errors.ts";
import { FINALIZER } from "../formats/finalizer.ts";
import type { NodePatch } from "../render/node/patch.ts";
import { type KubeClient, paths } from "./client.ts";

export class Patcher {
  readonly #client: KubeClient;

  constructor(client: KubeClient) {
    this.#client = client;
  }

  /** Adds our finalizer. Through the status subresource, as upstream does: it needs no right to change Services. */
  async addFinalizer(service: V1Service): Promise<void> {
    await this.#patchService(service, { metadata: { finalizers: [FINALIZER] } });
  }

  async setIngress(service: V1Service, ingress: readonly V1LoadBalancerIngress[]): Promise<void> {
    await this.#patchService(service, { status: { loadBalancer: { ingress: [...ingress] } } });
  }

  /** Clears the status and removes our finalizer, in this order: the object may vanish with the finalizer. */
  async removeFinalizer(service: V1Service): Promise<void> {
    if (service.status?.loadBalancer?.ingress?.length) {
      await this.#patchService(service, { status: { loadBalancer: { ingress: null } } });
    }
    await this.disownService(service);
  }

  /** Removes our finalizer alone: the status stays true when the balancer stays. */
  async disownService(service: V1Service): Promise<void> {
    await this.#patchService(service, { metadata: { "$deleteFromPrimitiveList/finalizers": [FINALIZER] } });
  }

  /**
   * Writes ProviderID, labels and taints together, then the addresses. All of it holds for this node alone, not for
   * another that took its name; taints are a list that others write too, so that patch holds only for the version it was
   * made from. A conflict is for the caller to try again with a newer node.
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

  /** The node as it is now, past every cache; nothing when it is gone. */
  readNode(name: string): Promise<V1Node | undefined> {
    return ifFound(this.#client.get<V1Node>(paths.node(name)));
  }

  /**
   * Deletes a node as it was seen: one that was written to since, or replaced by another of its name, stays. Returns
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

  /** The precondition keeps a patch meant for a deleted Service from hitting a new one of the same name. */
  async #patchService({ metadata }: V1Service, patch: { metadata?: object; status?: object }): Promise<void> {
    const path = `${paths.service(metadata?.namespace ?? "", metadata?.name ?? "")}/status`;
    try {
      await this.#client.patch(path, "strategic-merge", {
        ...patch,
        metadata: { ...patch.metadata, uid: metadata?.uid },
      });
    } catch (error) {
      // Gone, or replaced by another of its name: there is nothing left to write to.
      if (!isNotFound(error) && !isConflict(error)) throw error;
    }
  }
}
