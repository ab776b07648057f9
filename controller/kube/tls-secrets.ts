/** TLS Secrets, from the namespaces where they can be read. Unreadable ones are left out and delay nothing. */
import { setTimeout } from "node:timers/promises";
import type { V1Secret } from "@kubernetes/client-node";
import type { SecretList } from "../render/certificate/tls-secret.ts";
import { Informer, type InformerOptions } from "./informer.ts";
import { paths } from "./paths.ts";

/** Maximum wait for the first lists: without permission they would never arrive. */
const PATIENCE_MS = 10_000;

/** What to watch, and where. */
export interface TlsSecretOptions extends Pick<InformerOptions<V1Secret>, "client" | "log" | "onChange"> {
  /** Namespaces to watch; absent means all. */
  readonly namespaces?: readonly string[];
  readonly patienceMs?: number;
}

/** Informers for TLS Secrets, one per namespace. */
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

  /** Resolves when all lists have arrived, or after the maximum wait. */
  async start(): Promise<void> {
    const synced = Promise.all(this.#informers.map(({ informer }) => informer.start()));
    await Promise.race([synced, setTimeout(this.#patienceMs, undefined, { ref: false })]);
  }

  async stop(): Promise<void> {
    await Promise.all(this.#informers.map(({ informer }) => informer.stop()));
  }

  /** The lists that are current. */
  lists(): readonly SecretList[] {
    const current = this.#informers.filter(({ informer }) => informer.isCurrent);
    return current.map(({ informer, ...where }) => ({ ...where, secrets: [...informer.items.values()] }));
  }
}
