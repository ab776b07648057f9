/** A ConfigMap owned by Lotse, in the controller's namespace. Updates never overwrite concurrent ones. */
import { ifFound, isConflict } from "../diagnostics/errors.ts";
import type { KubeClient } from "./client.ts";
import { paths } from "./paths.ts";

interface ConfigMap {
  readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
  readonly data?: Readonly<Record<string, string>>;
}

/** Contents of a ConfigMap. */
export type Data = Readonly<Record<string, string>>;

/** Attempts to update when other writers keep being faster. */
const TRIES = 5;

/** One of Lotse's own ConfigMaps: plan, audit or status. */
export class OwnConfigMap {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #name: string;

  /** The name is `lotse-<kind>-<cluster>`; RBAC rules refer to it. */
  constructor(client: KubeClient, place: { readonly namespace: string; readonly clusterName: string }, kind: string) {
    this.#client = client;
    this.#namespace = place.namespace;
    this.#name = `lotse-${kind}-${place.clusterName.toLowerCase().replaceAll(/[^a-z0-9.-]/g, "-")}`;
  }

  get name(): string {
    return this.#name;
  }

  /** Path to watch this ConfigMap only. */
  get watchPath(): string {
    return `${paths.configMap(this.#namespace)}?fieldSelector=${encodeURIComponent(`metadata.name=${this.#name}`)}`;
  }

  /** Its contents; empty when it does not exist. */
  async read(): Promise<Data> {
    return (await this.#get())?.data ?? {};
  }

  /** Changes its contents. `change` may be called again with newer data; returning equal data writes nothing. */
  async update(change: (data: Data) => Data): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      const existing = await this.#get();
      const data = change(existing?.data ?? {});
      if (existing?.data === data || JSON.stringify(existing?.data) === JSON.stringify(data)) return;
      try {
        await this.#put(existing, data);
        return;
      } catch (error) {
        if (!isConflict(error) || attempt === TRIES) throw error;
      }
    }
  }

  /** Deletes it. Succeeds when it does not exist. */
  async delete(): Promise<void> {
    await ifFound(this.#client.delete(paths.configMap(this.#namespace, this.#name)));
  }

  #get(): Promise<ConfigMap | undefined> {
    return ifFound(this.#client.get<ConfigMap>(paths.configMap(this.#namespace, this.#name)));
  }

  async #put(existing: ConfigMap | undefined, data: Data): Promise<void> {
    const { resourceVersion } = existing?.metadata ?? {};
    const labels = { "app.kubernetes.io/managed-by": "lotse" };
    const body = {
      metadata: { name: this.#name, labels, ...(resourceVersion !== undefined && { resourceVersion }) },
      data,
    };
    if (existing) await this.#client.replace(paths.configMap(this.#namespace, this.#name), body);
    else await this.#client.create(paths.configMap(this.#namespace), body);
  }
}
