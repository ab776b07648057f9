/** Carries out the writes of a turn. Each stands alone: one that fails is logged and left to the next turn. */
import { createHash } from "node:crypto";
import { messageOf } from "../errors.ts";
import type { EventRecorder } from "../kube/events.ts";
import type { Patcher } from "../kube/write.ts";
import type { Logger } from "../log.ts";
import type { Notice, Write } from "./writes.ts";

export interface PublishParts {
  readonly patcher: Patcher;
  readonly recorder: EventRecorder;
  readonly log: Logger;
}

/** How many topics are remembered. */
const MEMORY = 5_000;

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

/** Good news that ends a warning: should it come back, it is told again. */
const ENDS: Readonly<Record<string, readonly string[]>> = {
  EnsuredLoadBalancer: ["SyncLoadBalancerFailed"],
  Synced: ["InitializationFailed", "InvalidExternalIPv6"],
  RouteCreated: ["FailedToCreateRoute"],
};

export class Publisher {
  readonly #parts: PublishParts;
  /** The last warning about each object and topic: it is said once, and again when it changes. */
  readonly #warned = new Map<string, string>();

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
      case "claim":
        await patcher.claimService(write.service);
        return;
      case "ingress":
        await patcher.setIngress(write.service, write.ingress);
        log.info(
          { service: objectKey(write), ingress: write.ingress.map(({ ip, hostname }) => ip ?? hostname) },
          "service has its balancer",
        );
        return;
      case "release":
        await patcher.releaseService(write.service);
        log.info({ service: objectKey(write) }, "service released");
        return;
      case "network-condition":
        await patcher.setNetworkCondition(write.node, write.isAvailable);
        if (write.isAvailable) this.#end("RouteCreated", write.node.metadata?.uid);
        return;
      case "event":
        await this.#tell(write.event);
        return;
    }
  }

  async #tell({ about, type, reason, message, occasion }: Notice): Promise<void> {
    const { recorder, log } = this.#parts;
    const uid = about.object.metadata?.uid;
    this.#end(reason, uid);
    if (type === "Warning") {
      // Mistakes and failed runs share a reason; neither makes the other worth saying again.
      const topic = occasion === undefined ? reason : `${reason} on occasion`;
      if (!this.#isNews(`${uid} ${topic}`, [message, occasion])) return;
      log.warn({ object: about.object.metadata?.name, reason }, message);
    }
    const component = COMPONENT_OF_REASON[reason] ?? COMPONENTS[about.kind];
    await recorder.record({ kind: about.kind, object: about.object, type, reason, message, component });
  }

  #end(news: string, uid: string | undefined): void {
    for (const reason of ENDS[news] ?? []) this.#warned.delete(`${uid} ${reason}`);
  }

  /** Whether this was not the last thing said there. The longest unsaid is forgotten first. */
  #isNews(topic: string, said: readonly (string | undefined)[]): boolean {
    const digest = createHash("sha256").update(JSON.stringify(said)).digest("base64");
    const isNews = this.#warned.get(topic) !== digest;
    this.#warned.delete(topic);
    this.#warned.set(topic, digest);
    const [oldest] = this.#warned.keys();
    if (this.#warned.size > MEMORY && oldest !== undefined) this.#warned.delete(oldest);
    return isNews;
  }
}

function objectKey(write: Write): string {
  const object = write.kind === "event" ? write.event.about.object : "service" in write ? write.service : write.node;
  const { namespace, name } = object.metadata ?? {};
  return namespace ? `${namespace}/${name}` : (name ?? "");
}
