/** Carries out the writes of a turn. Each stands alone: one that fails is logged and left to the next turn. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { EventRecorder } from "../kube/events.ts";
import type { Patcher } from "../kube/write.ts";
import type { Notice, Write } from "./writes.ts";

export interface PublishParts {
  readonly patcher: Patcher;
  readonly recorder: EventRecorder;
  /** Called for every Event, also for one that only repeats what was said. */
  readonly onEvent?: ((event: Notice) => void) | undefined;
  readonly log: Logger;
}

/** Names under which users know the parts of a cloud-controller-manager in Events. */
const COMPONENTS = { Service: "service-controller", Node: "cloud-node-controller" } as const;
/** Reasons that users know from other parts than that of their object. */
const COMPONENT_OF_REASON: Readonly<Record<string, string>> = {
  FailedToCreateRoute: "route_controller",
  RemovalsHeldBack: "route_controller",
  ClusterCIDRMisconfigured: "route_controller",
  DeletingNode: "cloud-node-lifecycle-controller",
  DeletingNodeFailed: "cloud-node-lifecycle-controller",
  NodeDeletionHeldBack: "cloud-node-lifecycle-controller",
};

/** Good news that ends a warning. */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  EnsuredLoadBalancer: ["SyncLoadBalancerFailed"],
  Synced: ["InitializationFailed", "InvalidExternalIPv6"],
  RouteCreated: ["FailedToCreateRoute"],
};

export class Publisher {
  readonly #parts: PublishParts;

  constructor(parts: PublishParts) {
    this.#parts = parts;
  }

  /** Writes everything, different objects at the same time, writes to one object in order. Returns what failed. */
  async publish(writes: readonly Write[]): Promise<readonly Write[]> {
    const byObject = Map.groupBy(writes, objectKey);
    return (await Promise.all([...byObject.values()].map((group) => this.#publishGroup(group)))).flat();
  }

  async #publishGroup(writes: readonly Write[]): Promise<readonly Write[]> {
    for (const write of writes) {
      try {
        await this.#perform(write);
      } catch (error) {
        this.#parts.log.warn({ write: write.kind, object: objectKey(write), error: messageOf(error) }, "write failed");
        return [write]; // what follows on this object stands on it
      }
    }
    return [];
  }

  async #perform(write: Write): Promise<void> {
    const { patcher, log } = this.#parts;
    switch (write.kind) {
      case "add-finalizer":
        await patcher.addFinalizer(write.service);
        return;
      case "ingress":
        await patcher.setIngress(write.service, write.ingress);
        log.info(
          { service: objectKey(write), ingress: write.ingress.map(({ ip, hostname }) => ip ?? hostname) },
          "service has its balancer",
        );
        return;
      case "remove-finalizer":
        await patcher.removeFinalizer(write.service);
        log.info({ service: objectKey(write) }, "service released");
        return;
      case "network-condition":
        await patcher.setNetworkCondition(write.node, write.isAvailable);
        if (write.isAvailable) this.#end("RouteCreated", write.node);
        return;
      case "event":
        await this.#tell(write.event);
        this.#parts.onEvent?.(write.event);
        return;
    }
  }

  async #tell({ about, ...said }: Notice): Promise<void> {
    this.#end(said.reason, about.object);
    const component = COMPONENT_OF_REASON[said.reason] ?? COMPONENTS[about.kind];
    await this.#parts.recorder.record({ ...about, ...said, component });
  }

  #end(news: string, object: V1Service | V1Node): void {
    for (const reason of ENDS[news] ?? []) this.#parts.recorder.end(object, reason);
  }
}

function objectKey(write: Write): string {
  const object = write.kind === "event" ? write.event.about.object : "service" in write ? write.service : write.node;
  const { namespace, name } = object.metadata ?? {};
  return namespace ? `${namespace}/${name}` : (name ?? "");
}
