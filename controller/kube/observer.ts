/** The observed cluster: Nodes and Services, complete and current, or an error. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import { CcmError } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { TIMINGS } from "../work/timings.ts";
import type { KubeClient } from "./client.ts";
import { type Change, Informer } from "./informer.ts";
import { paths } from "./paths.ts";

/** The last contact with the API server is too old to act on what is known. */
class StaleCluster extends CcmError {
  readonly code = "stale-cluster";
  readonly retry = "soon";
}

interface ObserverOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  /** Called for changes after the first lists: before that, an absent object would look deleted. */
  readonly onNode: (change: Change<V1Node>) => void;
  readonly onService: (change: Change<V1Service>) => void;
  /** Called when the API server is back after an outage. */
  readonly onBack?: () => void;
  readonly staleMs?: number;
}

/** Watches Nodes and Services. */
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

  /** Resolves when both lists have arrived. */
  async start(): Promise<void> {
    await Promise.all([this.#nodes.start(), this.#services.start()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.#nodes.stop(), this.#services.stop()]);
  }

  /** All Nodes. Throws when they may be out of date. */
  nodes(): readonly V1Node[] {
    return this.#current(this.#nodes);
  }

  /** All Services. Throws when they may be out of date. */
  services(): readonly V1Service[] {
    return this.#current(this.#services);
  }

  /** Milliseconds since the last contact of each watch. */
  agesMs(): Readonly<Record<string, number>> {
    return { nodes: this.#nodes.silentMs, services: this.#services.silentMs };
  }

  /** Why the lists must not be acted on; undefined when they may. */
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
