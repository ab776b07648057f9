/** A ConfigMap of our own in the controller's namespace: read, and changed without losing what others changed meanwhile. */
import { ifFound, isConflict } from "../diagnostics/errors.ts";
import { type KubeClient, paths } from "./client.ts";

interface ConfigMap {
  readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
  readonly data?: Readonly<Record<string, string>>;
}

export type Data = Readonly<Record<string, string>>;

/** How often a change is tried again when somebody else was faster. */
const TRIES = 5;

export class OwnConfigMap {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #name: string;

  /** `kind` is what it holds: `lotse-<kind>-<cluster>` is its name, which rights refer to. */
  constructor(client: KubeClient, place: { readonly namespace: string; readonly clusterName: string }, kind: string) {
    this.#client = client;
    this.#namespace = place.namespace;
    this.#name = `lotse-${kind}-${place.clusterName.toLowerCase().replaceAll(/[^a-z0-9.-]/g, "-")}`;
  }

  get name(): string {
    return this.#name;
  }

  /** Path under which it can be watched, alone. */
  get watchPath(): string {
    return `${paths.configMap(this.#namespace)}?fieldSelector=${encodeURIComponent(`metadata.name=${this.#name}`)}`;
  }

  /** What it holds; nothing when it does not exist. */
  async read(): Promise<Data> {
    return (await this.#get())?.data ?? {};
  }

  /** Changes what it holds. `change` may be called again with newer data; returning the same leaves it alone. */
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

  /** Deletes it, whether it exists or not. */
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
