/** Events on the objects users look at. The same thing said again raises the count of the Event that said it. */
import { createHash } from "node:crypto";
import { messageOf } from "../errors.ts";
import type { Logger } from "../log.ts";
import { printable } from "../printable.ts";
import { type KubeClient, paths } from "./client.ts";
import type { KubeObject } from "./informer.ts";

/** What Events may be about. */
const API_VERSIONS = { Service: "v1", Node: "v1", Lease: "coordination.k8s.io/v1" } as const;

export interface EventInput {
  readonly kind: keyof typeof API_VERSIONS;
  readonly object: KubeObject;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** Name of the upstream controller whose part we play, as its users know it. */
  readonly component: string;
}

const MAX_MESSAGE = 1_000;
/** How many different Events are remembered for counting. */
const MEMORY = 2_000;

interface Remembered {
  readonly name: string;
  count: number;
}

export class EventRecorder {
  readonly #client: KubeClient;
  readonly #log: Logger;
  readonly #said = new Map<string, Remembered>();

  constructor(client: KubeClient, log: Logger) {
    this.#client = client;
    this.#log = log;
  }

  /** Writes an Event. An Event that cannot be written is logged: it must not keep anything else from happening. */
  async record(input: EventInput): Promise<void> {
    const { kind, object, type, reason } = input;
    const message = printable(input.message).slice(0, MAX_MESSAGE);
    const key = [kind, object.metadata?.uid, type, reason, message].join("\n");
    try {
      const known = this.#said.get(key);
      if (!known || !(await this.#repeat(object, known))) await this.#create({ ...input, message }, key);
    } catch (error) {
      this.#log.warn({ reason, error: messageOf(error) }, "event not written");
    }
  }

  async #repeat(object: KubeObject, known: Remembered): Promise<boolean> {
    known.count += 1;
    const path = `${paths.events(namespaceOf(object))}/${known.name}`;
    const lastTimestamp = new Date().toISOString();
    try {
      await this.#client.patch(path, "merge", { count: known.count, lastTimestamp });
      return true;
    } catch {
      return false; // expired after an hour, or deleted: it is written anew
    }
  }

  async #create({ kind, object, type, reason, message, component }: EventInput, key: string): Promise<void> {
    const { name: objectName = "", uid } = object.metadata ?? {};
    const namespace = namespaceOf(object);
    const now = new Date();
    const suffix = createHash("sha256").update(`${key}${now.getTime()}`).digest("hex").slice(0, 16);
    const name = `${objectName}.${suffix}`;
    this.#remember(key, { name, count: 1 });
    await this.#client.create(paths.events(namespace), {
      metadata: { name, namespace },
      involvedObject: {
        apiVersion: API_VERSIONS[kind],
        kind,
        name: objectName,
        uid,
        ...(kind !== "Node" && { namespace }),
      },
      type,
      reason,
      message,
      source: { component },
      firstTimestamp: now.toISOString(),
      lastTimestamp: now.toISOString(),
      count: 1,
    });
  }

  #remember(key: string, remembered: Remembered): void {
    this.#said.delete(key);
    this.#said.set(key, remembered);
    const [oldest] = this.#said.keys();
    if (this.#said.size > MEMORY && oldest !== undefined) this.#said.delete(oldest);
  }
}

/** Events of objects without a namespace are kept in `default`. */
function namespaceOf(object: KubeObject): string {
  return object.metadata?.namespace ?? "default";
}
