/** The watches on Nodes, Services and TLS Secrets, and which loops a change wakes. */
import type { Config } from "../config/config.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { KubeClient } from "../kube/client.ts";
import { KubeObserver } from "../kube/observer.ts";
import { TlsSecrets } from "../kube/tls-secrets.ts";
import {
  concernsCluster,
  concernsLifecycle,
  concernsNode,
  concernsSecret,
  concernsService,
} from "../observe/relevance.ts";
import type { Observed } from "../render/cluster.ts";

/** The three loops. */
export type LoopName = "nodes" | "lifecycle" | "cluster";

type Wake = (...loops: readonly LoopName[]) => void;

export class Watches {
  readonly observer: KubeObserver;
  readonly #secrets: TlsSecrets | undefined;
  readonly #servesLoadBalancers: boolean;
  #wake: Wake = () => {};

  constructor({ tlsSecrets, loadBalancers }: Config, client: KubeClient, log: Logger) {
    this.#servesLoadBalancers = loadBalancers;
    this.observer = new KubeObserver({
      client,
      log,
      onNode: (change) => {
        if (concernsNode(change)) this.#wake("nodes");
        if (concernsLifecycle(change)) this.#wake("lifecycle");
        if (concernsCluster(change)) this.#wake("cluster");
      },
      onService: (change) => {
        if (concernsService(change)) this.#wake("cluster");
      },
      onBack: () => this.#wake("nodes", "lifecycle", "cluster"),
    });
    const onChange = (change: Parameters<typeof concernsSecret>[0]) => {
      if (concernsSecret(change)) this.#wake("cluster");
    };
    this.#secrets = tlsSecrets && new TlsSecrets({ client, log, ...tlsSecrets, onChange });
  }

  /** The objects as last seen. Throws while the caches are stale. */
  readonly observed = (): Observed => ({
    nodes: this.observer.nodes(),
    services: this.#servesLoadBalancers ? this.observer.services() : [],
    secrets: this.#secrets?.lists() ?? [],
  });

  /** Resolves when the caches are filled. From then on, changes wake the loops they concern. */
  async start(wake: Wake): Promise<void> {
    this.#wake = wake;
    await Promise.all([this.observer.start(), this.#secrets?.start()]);
  }

  async stop(): Promise<void> {
    await Promise.all([this.observer.stop(), this.#secrets?.stop()]);
  }
}
