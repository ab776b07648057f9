/** Writes to Services and Nodes, each as the smallest possible patch. */
import type { V1LoadBalancerIngress, V1Node, V1Service, V1ServiceList } from "@kubernetes/client-node";
import { defined } from "../../stacks/units/defined.ts";
import { CcmError, ifFound, isConflict, isNotFound } from "../diagnostics/errors.ts";
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

  /**
   * Adds our finalizer through the status subresource, as upstream does, so no permission to change Services is needed.
   * Throws unless the API server's answer proves it: a load balancer created for a Service that is already gone would
   * never be deleted.
   */
  async addFinalizer(service: V1Service): Promise<void> {
    const { metadata } = await this.#patchService(service, { metadata: { finalizers: [FINALIZER] } });
    const isProven =
      metadata?.uid === service.metadata?.uid &&
      metadata?.deletionTimestamp === undefined &&
      metadata?.finalizers?.includes(FINALIZER);
    if (!isProven) throw new Unclaimed("the API server's answer does not show our finalizer on this Service");
  }

  /** The Service of this name as it is now, not from a cache; undefined when there is none. Needs only the right to list. */
  async readService({ metadata }: V1Service): Promise<V1Service | undefined> {
    const query = { fieldSelector: `metadata.name=${metadata?.name}` };
    return (await this.#client.get<V1ServiceList>(paths.service(metadata?.namespace ?? ""), query)).items[0];
  }

  async setIngress(service: V1Service, ingress: readonly V1LoadBalancerIngress[]): Promise<void> {
    await this.#patchIfPresent(service, { status: { loadBalancer: { ingress: [...ingress] } } });
  }

  /** Clears the status, then removes our finalizer: without it the object may be gone at once. */
  async removeFinalizer(service: V1Service): Promise<void> {
    if (service.status?.loadBalancer?.ingress?.length) {
      await this.#patchIfPresent(service, { status: { loadBalancer: { ingress: null } } });
    }
    await this.disownService(service);
  }

  /** Removes only our finalizer. The status stays, because the load balancer does. */
  async disownService(service: V1Service): Promise<void> {
    await this.#patchIfPresent(service, { metadata: { "$deleteFromPrimitiveList/finalizers": [FINALIZER] } });
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
          ...defined({ labels, annotations }),
        },
        spec: defined({ providerID: providerId, taints }),
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

  /** For writes that are pointless once the Service was deleted, or replaced by another of the same name. */
  async #patchIfPresent(service: V1Service, patch: ServicePatch): Promise<void> {
    try {
      await this.#patchService(service, patch);
    } catch (error) {
      if (isNotFound(error)) return;
      // The API server gives the same answer when another client has written to the Service.
      const isThere = async () => (await this.readService(service))?.metadata?.uid === service.metadata?.uid;
      if (!isConflict(error) || (await isThere())) throw error;
    }
  }

  /** The UID keeps a patch meant for a deleted Service from changing a new one of the same name. */
  #patchService({ metadata }: V1Service, patch: ServicePatch): Promise<V1Service> {
    const path = `${paths.service(metadata?.namespace ?? "", metadata?.name ?? "")}/status`;
    const body = { ...patch, metadata: { ...patch.metadata, uid: metadata?.uid } };
    return this.#client.patch(path, "strategic-merge", body);
  }
}

interface ServicePatch {
  readonly metadata?: object;
  readonly status?: object;
}

/** A Service that could not be claimed. Nothing may be created for it. */
class Unclaimed extends CcmError {
  readonly code = "unclaimed";
  readonly retry = "soon";
}
