/** TLS Secrets, where they may be read. Those that cannot be are not there, and hold nothing else up. */
import { setTimeout } from "node:timers/promises";
import type { V1Secret } from "@kubernetes/client-node";
import type { Logger } from "../diagnostics/log.ts";
import type { SecretList } from "../render/certificate/tls-secret.ts";
import { type KubeClient, paths } from "./client.ts";
import { Informer, type InformerOptions } from "./informer.ts";

/** Lists are waited for this long at the start; without the right to read them they would never come. */
const PATIENCE_MS = 10_000;

export interface TlsSecretOptions {
  readonly client: KubeClient;
  readonly log: Logger;
  /** Where to look; absent means in all namespaces. */
  readonly namespaces?: readonly string[];
  readonly onChange: InformerOptions<V1Secret>["onChange"];
  readonly patienceMs?: number;
}

export class TlsSecrets {
  readonly #informers: readonly { readonly namespace?: string; readonly informer: Informer<V1Secret> }[];
  readonly #patienceMs: number;

  constructor({ client, log, namespaces, onChange, patienceMs = PATIENCE_MS }: TlsSecretOptions) {
    this.#patienceMs = patienceMs;
    const watch = (namespace?: string) => ({
      informer: new Informer<V1Secret>({ client, path: paths.tlsSecrets(namespace), log, onChange }),
      ...(namespace !== undefined && { namespace }),
    });
    this.#informers = namespaces ? namespaces.map(watch) : [watch()];
  }

  /** Resolves when all lists are in, or when it has been long enough to know that some may never be. */
  async start(): Promise<void> {
    const synced = Promise.all(this.#informers.map(({ informer }) => informer.start()));
    await Promise.race([synced, setTimeout(this.#patienceMs, undefined, { ref: false })]);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#informers.map(({ informer }) => informer.stop()));
  }

  /** The lists that are in and current. */
  lists(): readonly SecretList[] {
    const current = this.#informers.filter(({ informer }) => informer.isCurrent);
    return current.map(({ informer, ...where }) => ({ ...where, secrets: [...informer.items.values()] }));
  }
}
