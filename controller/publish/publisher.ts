/** Performs the writes of a turn. A failed write is logged and left to the next turn. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { EventRecorder } from "../kube/events.ts";
import type { Patcher } from "../kube/write.ts";
import { inParallel } from "../work/parallel.ts";
import { EVENTS } from "./events.ts";
import type { Notice, Write } from "./writes.ts";

export interface PublishParts {
  readonly patcher: Patcher;
  readonly recorder: EventRecorder;
  /** Called for every Event, including repeated ones. */
  readonly onEvent?: ((event: Notice) => void) | undefined;
  readonly log: Logger;
}

/** Objects that are written to at the same time: thousands of Events at once would delay everything else. */
const PARALLEL = 32;

export class Publisher {
  readonly #parts: PublishParts;

  constructor(parts: PublishParts) {
    this.#parts = parts;
  }

  /**
   * Writes to different objects in parallel, and to one object in order. Returns the writes that failed, and those to the
   * same objects that were not made for this reason.
   */
  async publish(writes: readonly Write[]): Promise<readonly Write[]> {
    const failed: Write[] = [];
    await inParallel([...Map.groupBy(writes, objectKey).values()], PARALLEL, async (group) => {
      failed.push(...(await this.#publishGroup(group)));
    });
    return failed;
  }

  async #publishGroup(writes: readonly Write[]): Promise<readonly Write[]> {
    for (const [index, write] of writes.entries()) {
      try {
        await this.#perform(write);
      } catch (error) {
        this.#parts.log.warn({ write: write.kind, object: objectKey(write), error: messageOf(error) }, "write failed");
        return writes.slice(index); // later writes to this object depend on it
      }
    }
    return [];
  }

  async #perform(write: Write): Promise<void> {
    const { patcher, log } = this.#parts;
    switch (write.kind) {
      case "add-finalizer":
        return patcher.addFinalizer(write.service);
      case "ingress":
        await patcher.setIngress(write.service, write.ingress);
        log.info(
          { service: objectKey(write), ingress: write.ingress.map(({ ip, hostname }) => ip ?? hostname) },
          "service has its load balancer",
        );
        return;
      case "remove-finalizer":
        await patcher.removeFinalizer(write.service);
        log.info({ service: objectKey(write) }, "finalizer removed");
        return;
      case "network-condition":
        await patcher.setNetworkCondition(write.node, write.isAvailable);
        if (write.isAvailable) this.#end(["FailedToCreateRoute"], write.node);
        return;
      case "event":
        await this.#record(write.event);
        this.#parts.onEvent?.(write.event);
        return;
    }
  }

  async #record({ about, ...event }: Notice): Promise<void> {
    const { component, ends } = EVENTS[event.reason];
    this.#end(ends, about.object);
    await this.#parts.recorder.record({ ...about, ...event, component });
  }

  #end(reasons: readonly string[], object: V1Service | V1Node): void {
    for (const reason of reasons) this.#parts.recorder.end(object, reason);
  }
}

function objectKey(write: Write): string {
  const object = write.kind === "event" ? write.event.about.object : "service" in write ? write.service : write.node;
  const { namespace, name } = object.metadata ?? {};
  return namespace ? `${namespace}/${name}` : (name ?? "");
}
