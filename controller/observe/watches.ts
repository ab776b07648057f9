/** The watched cluster, complete and current or an error, and which loops a change wakes. */

import type { V1Node, V1Service } from "@kubernetes/client-node";
import type { Config } from "../config/config.ts";
import { CcmError } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { Pace } from "../guard/pace.ts";
import type { KubeClient } from "../kube/client.ts";
import { type Change, Informer, type InformerOptions } from "../kube/informer.ts";
import { paths } from "../kube/paths.ts";
import { TlsSecrets } from "../kube/tls-secrets.ts";
import type { Observed } from "../render/cluster.ts";
import { TIMINGS } from "../work/timings.ts";
import { concernsCluster, concernsLifecycle, concernsNode, concernsSecret, concernsService } from "./relevance.ts";

/** The three loops. */
export type LoopName = "nodes" | "lifecycle" | "cluster";

type Wake = (...loops: readonly LoopName[]) => void;

export class Watches {
  readonly observer: KubeObserver;
  readonly #secrets: TlsSecrets | undefined;
  readonly #servesLoadBalancers: boolean;
  #wake: Wake = () => {};

  constructor(
    { tlsSecrets, loadBalancers, loadBalancerClasses }: Config,
    { client, pace, log }: { readonly client: KubeClient; readonly pace: Pick<Pace, "isHeld">; readonly log: Logger },
  ) {
    this.#servesLoadBalancers = loadBalancers;
    // The loop runs again when held changes may take effect. Deletions never wait.
    const isHeld = ({ old, now }: Change<V1Service>) =>
      old !== undefined && now?.metadata?.deletionTimestamp === undefined && now !== undefined && pace.isHeld(now);
    this.observer = new KubeObserver({
      client,
      log,
      onNode: (change) => {
        if (concernsNode(change)) this.#wake("nodes");
        if (concernsLifecycle(change)) this.#wake("lifecycle");
        if (concernsCluster(change)) this.#wake("cluster");
      },
      onService: (change) => {
        if (concernsService(change, loadBalancerClasses) && !isHeld(change)) this.#wake("cluster");
      },
      onBack: () => this.#wake("nodes", "lifecycle", "cluster"),
    });
    const onChange = (change: Parameters<typeof concernsSecret>[0]) => {
      if (concernsSecret(change, this.observer.knownServices())) this.#wake("cluster");
    };
    this.#secrets = tlsSecrets && new TlsSecrets({ client, log, ...tlsSecrets, onChange });
  }

  /** The objects as last seen. Throws while the caches are stale. */
  readonly observed = (): Observed => ({
    nodes: this.observer.nodes(),
    services: this.#servesLoadBalancers ? this.observer.services() : [],
    secrets: this.#secrets?.lists() ?? [],
  });

  /** Numbers of the objects, even if they may be out of date. */
  get counts(): { readonly nodes: number; readonly services: number } {
    const { nodes, services } = this.observer.counts;
    return { nodes, services: this.#servesLoadBalancers ? services : 0 };
  }

  /** Resolves when the caches are filled. From then on, changes wake the loops they concern. */
  async start(wake: Wake): Promise<void> {
    this.#wake = wake;
    await Promise.all([this.observer.start(), this.#secrets?.start()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.observer.stop(), this.#secrets?.stop()]);
  }
}

/** The last contact with the API server is too old to act on what is known. */
class StaleCluster extends CcmError {
  readonly code = "stale-cluster";
  readonly retry = "soon";
}

interface ObserverOptions extends Pick<InformerOptions<V1Node>, "client" | "log" | "staleMs"> {
  /** Called for changes after the first lists: before that, an absent object would look deleted. */
  readonly onNode: (change: Change<V1Node>) => void;
  readonly onService: (change: Change<V1Service>) => void;
  /** Called when the API server is back after an outage. */
  readonly onBack?: () => void;
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

  /** All Services, even if they may be out of date. */
  knownServices(): Iterable<V1Service> {
    return this.#services.items.values();
  }

  /** Numbers of all Nodes and Services, even if they may be out of date. */
  get counts() {
    return { nodes: this.#nodes.items.size, services: this.#services.items.size };
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
