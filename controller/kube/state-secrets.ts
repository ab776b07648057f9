/**
 * Stack state in Secrets: compressed and split into parts. To read a state with a single part:
 * `kubectl get secret NAME -o jsonpath='{.data.state}' | base64 -d | gunzip`.
 */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { StateStore } from "../../stacks/state/state-store.ts";
import { ifFound, isNotFound } from "../diagnostics/errors.ts";
import type { KubeClient } from "./client.ts";
import { paths } from "./paths.ts";

/** Maximum number of parts. Their names are fixed, because RBAC rules refer to them. */
const MAX_PARTS = 10;
/** A Secret is limited to 1 MiB, and base64 adds a third. */
const PART_BYTES = 700 * 1024;

interface Secret {
  readonly metadata?: { readonly name?: string; readonly resourceVersion?: string };
  readonly data?: Readonly<Record<string, string>>;
}

/** A state store in Secrets `lotse-state-<cluster>`, `lotse-state-<cluster>-1`, … */
export class SecretState implements StateStore {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #name: string;
  readonly #partBytes: number;
  /** Last known resourceVersion of the first part. Writes are bound to it. */
  #version: string | undefined;

  constructor(client: KubeClient, namespace: string, cluster: string, partBytes = PART_BYTES) {
    this.#client = client;
    this.#namespace = namespace;
    this.#name = `lotse-state-${cluster.toLowerCase().replaceAll(/[^a-z0-9.-]/g, "-")}`;
    this.#partBytes = partBytes;
  }

  async load(): Promise<string | undefined> {
    const first = await this.#read(0);
    this.#version = first?.metadata?.resourceVersion;
    const { generation, parts = "1" } = decoded(first);
    const rest = await Promise.all(Array.from({ length: Number(parts) - 1 }, (_, index) => this.#read(index + 1)));
    const all = [first, ...rest];
    // An interrupted save leaves parts of two generations. The state is a cache: it is rebuilt.
    if (!first || !all.every((part) => decoded(part).generation === generation)) return undefined;
    const bytes = Buffer.concat(all.map((part) => Buffer.from(part?.data?.state ?? "", "base64")));
    return (await promisify(gunzip)(bytes).catch(() => undefined))?.toString("utf8");
  }

  /** Writes the first part last and only over the known version, so a stale writer changes nothing that is ever read. */
  async save(text: string): Promise<void> {
    const bytes = await promisify(gzip)(text);
    const count = Math.max(1, Math.ceil(bytes.length / this.#partBytes));
    if (count > MAX_PARTS)
      throw new Error(`the state has ${bytes.length} bytes, more than ${MAX_PARTS} Secrets can hold`);
    const generation = createHash("sha256").update(bytes).digest("hex").slice(0, 16);
    const part = (index: number) => ({
      generation,
      parts: String(count),
      state: bytes.subarray(index * this.#partBytes, (index + 1) * this.#partBytes),
    });
    for (let index = 1; index < count; index++) await this.#write(index, part(index), undefined);
    this.#version = (await this.#write(0, part(0), this.#version)).metadata?.resourceVersion;
  }

  /** Deletes the first part first: after an interrupted deletion, the other parts are never read. */
  async delete(): Promise<void> {
    for (let index = 0; index < MAX_PARTS; index++)
      await ifFound(this.#client.delete(paths.secret(this.#namespace, this.#nameOf(index))));
  }

  #read(index: number): Promise<Secret | undefined> {
    return ifFound(this.#client.get<Secret>(paths.secret(this.#namespace, this.#nameOf(index))));
  }

  async #write(
    index: number,
    data: Readonly<Record<string, string | Buffer>>,
    version: string | undefined,
  ): Promise<Secret> {
    const name = this.#nameOf(index);
    const encoded = Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
    );
    const labels = { "app.kubernetes.io/managed-by": "lotse" };
    const body = {
      metadata: { name, labels, ...(version !== undefined && { resourceVersion: version }) },
      type: "lotse/state",
      data: encoded,
    };
    try {
      if (index > 0 || version !== undefined)
        return await this.#client.replace(paths.secret(this.#namespace, name), body);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      delete (body.metadata as { resourceVersion?: string }).resourceVersion;
    }
    return this.#client.create(paths.secret(this.#namespace), body);
  }

  #nameOf(index: number): string {
    return index === 0 ? this.#name : `${this.#name}-${index}`;
  }
}

function decoded(secret: Secret | undefined): { readonly generation?: string; readonly parts?: string } {
  const text = (key: string) => {
    const value = secret?.data?.[key];
    return value === undefined ? {} : { [key]: Buffer.from(value, "base64").toString("utf8") };
  };
  return { ...text("generation"), ...text("parts") };
}
