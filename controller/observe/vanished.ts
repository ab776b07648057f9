/**
 * Services that vanished although their finalizer was set. The API server deletes a Service whose DELETE was under way when
 * the finalizer was added, and anyone who may edit a Service may remove the finalizer, also while changing its type. Without
 * this memory, its load balancer would stay for ever.
 */
import type { V1Service } from "@kubernetes/client-node";
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { asDeleted, hasFinalizer } from "../formats/finalizer.ts";
import { exceeds, type GuardLimits } from "../guard/guard.ts";
import type { Write } from "../publish/writes.ts";
import type { Observed } from "../render/cluster.ts";
import { serviceName } from "../render/service/ours.ts";
import { inParallel } from "../work/parallel.ts";

interface VanishedParts {
  /** Reads a Service directly, as a second witness beside the watch; undefined when it is gone. */
  readonly readService: (service: V1Service) => Promise<V1Service | undefined>;
  readonly limits: GuardLimits;
  readonly log: Logger;
}

/** Concurrent reads. */
const PARALLEL = 8;

/** Remembers Services with our finalizer, and presents those that vanished as being deleted. */
export class Vanished {
  readonly #parts: VanishedParts;
  /** Services with our finalizer, by UID. */
  readonly #held = new Map<string, V1Service>();
  #gone: readonly V1Service[] = [];
  #isSuspicious = false;

  constructor(parts: VanishedParts) {
    this.#parts = parts;
  }

  /** Remembers Services whose finalizer is set. */
  hold(claimed: readonly { readonly service: V1Service }[]): void {
    for (const { service } of claimed) this.#held.set(uidOf(service), service);
  }

  /** Forgets Services whose finalizer was removed, because nothing is left of them in the cloud. */
  release(written: readonly Write[]): void {
    for (const write of written) if (write.kind === "remove-finalizer") this.#held.delete(uidOf(write.service));
  }

  /**
   * Finds out which Services vanished. Where the API server does not confirm it, the Service counts as present; so do all,
   * if suspiciously many vanished: the cluster may have been restored from an old backup.
   */
  async look({ services }: Observed): Promise<void> {
    const seen = new Set(services.filter(isOurs).map(uidOf));
    const missing = [...this.#held.values()].filter((service) => !seen.has(uidOf(service)));
    const gone: V1Service[] = [];
    this.#gone = gone;
    const isSuspicious = exceeds(missing.length, this.#held.size, this.#parts.limits);
    if (isSuspicious && !this.#isSuspicious)
      this.#parts.log.error(
        { services: missing.map(serviceName) },
        "many Services vanished at once, keeping their load balancers",
      );
    this.#isSuspicious = isSuspicious;
    if (isSuspicious) return;
    await inParallel(missing, PARALLEL, async (service) => {
      const last = await this.#lastOf(service);
      if (last) gone.push(last);
    });
  }

  /** Whether a Service vanished. Another one may have its name by now. */
  has(service: V1Service): boolean {
    return this.#gone.some((gone) => uidOf(gone) === uidOf(service));
  }

  /** The observed objects, with the vanished Services as being deleted. */
  complete(observed: Observed): Observed {
    if (this.#gone.length === 0) return observed;
    const seen = new Set(observed.services.filter(isOurs).map(uidOf));
    const gone = this.#gone.filter((service) => this.#held.has(uidOf(service)) && !seen.has(uidOf(service)));
    return { ...observed, services: [...observed.services, ...gone.map(asDeleted)] };
  }

  /** What is last known of a Service that vanished, such as what it asks to keep; undefined for one that has not. */
  async #lastOf(service: V1Service): Promise<V1Service | undefined> {
    const { readService, log } = this.#parts;
    try {
      const found = await readService(service);
      if (!found || uidOf(found) !== uidOf(service)) return service;
      return isOurs(found) ? undefined : found;
    } catch (error) {
      log.warn({ service: serviceName(service), error: messageOf(error) }, "reading a vanished Service failed");
      return undefined;
    }
  }
}

/** Whether a Service shows that it has or had a load balancer. */
function isOurs(service: V1Service): boolean {
  return service.spec?.type === "LoadBalancer" || hasFinalizer(service);
}

function uidOf({ metadata }: V1Service): string {
  return metadata?.uid ?? "";
}
