/** What the cluster shows: Nodes and Services, complete and current, or not at all. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { CcmError } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { TIMINGS } from "../work/timings.ts";
import { type KubeClient, paths } from "./client.ts";
import { type Change, Informer } from "./informer.ts";

/** The API server has not been heard of for so long that what we know may be wrong. */
class StaleCluster extends CcmError {
  readonly code = "stale-cluster";
  readonly retry = "soon";
}

export interface ObserverOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  /** Called for changes after everything was there once: absence before that would look like an intent to delete. */
  readonly onNode: (change: Change<V1Node>) => void;
  readonly onService: (change: Change<V1Service>) => void;
  /** Called when the API server is back after it was away for a while. */
  readonly onBack?: () => void;
  readonly staleMs?: number;
}

export class KubeObserver {
  readonly #nodes: Informer<V1Node>;
  readonly #services: Informer<V1Service>;

  constructor({ client, log, onNode, onService, onBack, staleMs }: ObserverOptions) {
    const whenSynced =
      <T>(call: (change: T) => void) =>
      (change: T) => {
        if (this.#isSynced) call(change);
      };
    const shared = {
      client,
      log,
      staleMs,
      onBack: (silentMs: number) => {
        if (this.#isSynced && silentMs >= TIMINGS.outage) onBack?.();
      },
    };
    this.#nodes = new Informer<V1Node>({ ...shared, path: paths.nodes, onChange: whenSynced(onNode) });
    this.#services = new Informer<V1Service>({ ...shared, path: paths.services, onChange: whenSynced(onService) });
  }

  /** Resolves when both lists are in. */
  async start(): Promise<void> {
    await Promise.all([this.#nodes.start(), this.#services.start()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#nodes.stop(), this.#services.stop()]);
  }

  /** Throws rather than show what may be long gone. */
  nodes(): readonly V1Node[] {
    return this.#current(this.#nodes);
  }

  /** As `nodes`. */
  services(): readonly V1Service[] {
    return this.#current(this.#services);
  }

  /** Milliseconds since each watch was last heard of. */
  agesMs(): Readonly<Record<string, number>> {
    return { nodes: this.#nodes.silentMs, services: this.#services.silentMs };
  }

  /** Why what we know must not be acted on; nothing when it may. */
  staleness(): string | undefined {
    if (!this.#isSynced) return "the initial lists have not arrived yet";
    const isCurrent = this.#nodes.isCurrent && this.#services.isCurrent;
    return isCurrent ? undefined : silence(Math.max(...Object.values(this.agesMs())));
  }

  get #isSynced(): boolean {
    return this.#nodes.isSynced && this.#services.isSynced;
  }

  #current<T extends V1Node | V1Service>(informer: Informer<T>): readonly T[] {
    if (informer.isCurrent) return [...informer.items.values()];
    throw new StaleCluster(`${silence(informer.silentMs)}: no changes until it responds again`);
  }
}

function silence(silentMs: number): string {
  return `no contact with the API server for ${Math.round(silentMs / 1000)} s`;
}
