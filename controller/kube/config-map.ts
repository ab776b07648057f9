/** A ConfigMap owned by Lotse, in the controller's namespace. Updates never overwrite concurrent ones. */
import { ifFound, isConflict } from "../diagnostics/errors.ts";
import type { KubeClient } from "./client.ts";
import { paths } from "./paths.ts";

/** Contents of a ConfigMap. */
export type Data = Readonly<Record<string, string>>;

/** Metadata of an object of Lotse. With a resourceVersion, a write fails if the object has changed since. */
export function ownMetadata(name: string, resourceVersion?: string) {
  const labels = { "app.kubernetes.io/managed-by": "lotse" };
  return { name, labels, ...(resourceVersion !== undefined && { resourceVersion }) };
}

/** `lotse-<kind>-<cluster>`; RBAC rules refer to it. */
export function ownName(kind: string, cluster: string): string {
  return `lotse-${kind}-${cluster.toLowerCase().replaceAll(/[^a-z0-9.-]/g, "-")}`;
}

/** Attempts to update when other writers keep being faster. */
const TRIES = 5;

/** One of Lotse's own ConfigMaps: plan, audit or status. */
export class OwnConfigMap {
  readonly #client: KubeClient;
  readonly #name: string;
  /** Path of all ConfigMaps in the namespace. */
  readonly #all: string;
  readonly #path: string;

  constructor(client: KubeClient, place: { readonly namespace: string; readonly clusterName: string }, kind: string) {
    this.#client = client;
    this.#name = ownName(kind, place.clusterName);
    this.#all = paths.configMap(place.namespace);
    this.#path = paths.configMap(place.namespace, this.#name);
  }

  /** Path to watch this ConfigMap only. */
  get watchPath(): string {
    return `${this.#all}?fieldSelector=${encodeURIComponent(`metadata.name=${this.#name}`)}`;
  }

  /** Its contents; empty when it does not exist. */
  async read(): Promise<Data> {
    return (await this.#get())?.data ?? {};
  }

  /** Changes its contents. `change` may be called again with newer data; returning equal data writes nothing. */
  async update(change: (data: Data) => Data): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const existing = await this.#get();
      const before = existing?.data ?? {};
      const data = change(before);
      if (before === data || JSON.stringify(before) === JSON.stringify(data)) return;
      const body = { metadata: ownMetadata(this.#name, existing?.metadata?.resourceVersion), data };
      try {
        await (existing ? this.#client.replace(this.#path, body) : this.#client.create(this.#all, body));
        return;
      } catch (error) {
        if (!isConflict(error) || attempt === TRIES) throw error;
      }
    }
  }

  /** Deletes it. Succeeds when it does not exist. */
  async delete(): Promise<void> {
    await ifFound(this.#client.delete(this.#path));
  }

  #get() {
    return ifFound(this.#client.get<{ metadata?: { resourceVersion?: string }; data?: Data }>(this.#path));
  }
}
