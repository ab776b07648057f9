/**
 * Stack state in Secrets: compressed and split into parts. To read a state with a single part:
 * `kubectl get secret NAME -o jsonpath='{.data.state}' | base64 -d | gunzip`.
 */
import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import type { StateStore } from "../../stacks/state/mirror.ts";
import { CcmError, ifFound, KubeError } from "../diagnostics/errors.ts";
import type { KubeClient } from "./client.ts";
import { ownMetadata, ownName } from "./config-map.ts";
import type { KubeObject } from "./informer.ts";
import { paths } from "./paths.ts";

/** Maximum number of parts. Their names are fixed, because RBAC rules refer to them. */
const MAX_PARTS = 10;
/** A Secret is limited to 1 MiB, and base64 adds a third. */
const PART_BYTES = 700 * 1024;
/** Limit of a decompressed state, against Secrets that other programs wrote. */
const MAX_TEXT_BYTES = 256 * 1024 * 1024;

interface Secret extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

/** The saved state cannot be read: its Secrets are incomplete, or access to them is denied. */
class StateUnreadable extends CcmError {
  readonly code = "state-unreadable";
  readonly retry = "soon";
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
    this.#name = ownName("state", cluster);
    this.#partBytes = partBytes;
  }

  /** Where the state is, for messages: `Secret kube-system/lotse-state-kubernetes`. */
  get place(): string {
    return `Secret ${this.#namespace}/${this.#name}`;
  }

  /** The saved state; undefined if there is none. */
  async load(): Promise<string | undefined> {
    const first = await this.#readForUser(0);
    if (!first) return undefined;
    const count = Math.min(Number(field(first, "parts")) || 1, MAX_PARTS);
    const rest = await Promise.all(Array.from({ length: count - 1 }, (_, index) => this.#readForUser(index + 1)));
    const all = [first, ...rest];
    const bytes = Buffer.concat(all.map((part) => field(part, "state")));
    const isWhole = all.every((part) => field(part, "generation").equals(field(first, "generation")));
    const text = isWhole && (await promisify(gunzip)(bytes, { maxOutputLength: MAX_TEXT_BYTES }).catch(() => {}));
    if (text) return text.toString("utf8");
    throw new StateUnreadable(
      `${this.place} is incomplete: a save is in progress or was interrupted; the controller replaces it within a minute, or when it starts`,
    );
  }

  /**
   * Writes the first part last and only over the known version, so a stale writer changes nothing that is ever read. The
   * first save, and one after a failure, takes the version that it finds: whether this is the leader is for the caller to check.
   */
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
    this.#version ??= (await this.#read(0))?.metadata?.resourceVersion;
    for (let index = 1; index < count; index++) await this.#write(index, part(index));
    const version = this.#version;
    // After a conflict or without a response, the next save finds out which version there is.
    this.#version = undefined;
    this.#version = (await this.#write(0, part(0), version)).metadata?.resourceVersion;
  }

  /** Deletes the first part first: after an interrupted deletion, the other parts are never read. */
  async delete(): Promise<void> {
    for (let index = 0; index < MAX_PARTS; index++)
      await ifFound(this.#client.delete(paths.secret(this.#namespace, this.#nameOf(index))));
  }

  #read(index: number): Promise<Secret | undefined> {
    return ifFound(this.#client.get<Secret>(paths.secret(this.#namespace, this.#nameOf(index))));
  }

  async #readForUser(index: number): Promise<Secret | undefined> {
    try {
      return await this.#read(index);
    } catch (error) {
      if (!(error instanceof KubeError) || error.status !== 403) throw error;
      const right = `permission to get Secret ${this.#nameOf(index)} in namespace ${this.#namespace}`;
      throw new StateUnreadable(`the saved state requires ${right}: ${error.message}`, { cause: error });
    }
  }

  async #write(index: number, data: Readonly<Record<string, string | Buffer>>, version?: string): Promise<Secret> {
    const name = this.#nameOf(index);
    const encoded = Object.fromEntries(
      Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
    );
    const body = (metadata: object) => ({ metadata, type: "lotse/state", data: encoded });
    if (index > 0 || version !== undefined) {
      const path = paths.secret(this.#namespace, name);
      const replaced = await ifFound(this.#client.replace<Secret>(path, body(ownMetadata(name, version))));
      if (replaced) return replaced;
    }
    return this.#client.create(paths.secret(this.#namespace), body(ownMetadata(name)));
  }

  #nameOf(index: number): string {
    return index === 0 ? this.#name : `${this.#name}-${index}`;
  }
}

function field(secret: Secret | undefined, key: string): Buffer {
  return Buffer.from(secret?.data?.[key] ?? "", "base64");
}
