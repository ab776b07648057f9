/**
 * Writes Events, without repetition: a warning that still holds is not written again, and an equal Event increments the count of
 * the existing one.
 */
import { createHash } from "node:crypto";
import { KubeError, messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { printable } from "../diagnostics/printable.ts";
import { SYSTEM_CLOCK } from "../work/clock.ts";
import { Recent } from "../work/recent.ts";
import type { KubeClient } from "./client.ts";
import { type KubeObject, keyOf } from "./informer.ts";
import { paths } from "./paths.ts";

/** Kinds of objects that get Events, with their API versions. */
const API_VERSIONS = { Service: "v1", Node: "v1", Lease: "coordination.k8s.io/v1" } as const;

/** An Event to write. */
export interface EventInput {
  readonly kind: keyof typeof API_VERSIONS;
  readonly object: KubeObject;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly message: string;
  /** Name of the upstream controller that would write this Event. */
  readonly component: string;
  /** State that a warning refers to: when it changes, an equal message is written again. */
  readonly occasion?: string | undefined;
}

const MAX_MESSAGE = 1_000;
const MAX_LOGGED = 4_000;
/** A warning that was not repeated for this long is forgotten: as long as the API server keeps Events. */
const WARNED_MS = 3_600_000;

/** Hash of a warning, and when it was last repeated. */
interface Warned {
  readonly digest: string;
  readonly at: number;
}

/** An Event that was written, and its count. */
interface Written {
  readonly name: string;
  count: number;
}

/** Records Events and remembers which ones are still valid. */
export class EventRecorder {
  readonly #client: KubeClient;
  readonly #log: Logger;
  /** The last warning per topic, until it ends or is no longer repeated: never more than there are objects. */
  readonly #warned = new Map<string, Warned>();
  #prunedAt = 0;
  /** Written Events by object, reason and message. */
  readonly #written = new Recent<Written>(2_000);

  readonly #now: () => number;

  constructor(client: KubeClient, log: Logger, now = SYSTEM_CLOCK.now) {
    this.#client = client;
    this.#log = log;
    this.#now = now;
  }

  /** Writes an Event. Never fails: an Event that cannot be written is logged. */
  async record(input: EventInput): Promise<void> {
    const { kind, object, type, reason } = input;
    if (type === "Warning") {
      if (!this.#isNews(input)) return;
      this.#log.warn({ object: `${kind} ${keyOf(object)}`, reason }, input.message.slice(0, MAX_LOGGED));
    }
    const message = printable(input.message.slice(0, MAX_LOGGED)).slice(0, MAX_MESSAGE);
    const key = [kind, object.metadata?.uid, type, reason, message].join("\n");
    try {
      const known = this.#written.get(key);
      if (!known || !(await this.#repeat(object, known))) await this.#create({ ...input, message }, key);
    } catch (error) {
      this.#log.warn({ object: `${kind} ${keyOf(object)}`, reason, error: messageOf(error) }, "event not written");
      // Written when it recurs, unless the API server refuses Events as such.
      const isRefused = error instanceof KubeError && error.status >= 400 && error.status < 500 && error.status !== 429;
      if (!isRefused) this.#warned.delete(topicOf(input));
    }
  }

  /** Ends a warning. If it recurs, it is written again. */
  end(object: KubeObject, reason: string): void {
    this.#warned.delete(topicOf({ object, reason }));
  }

  /** Whether a warning differs from the last one on its topic. */
  #isNews(input: EventInput): boolean {
    const topic = topicOf(input);
    const digest = createHash("sha256")
      .update(JSON.stringify([input.message, input.occasion]))
      .digest("base64");
    const isNews = this.#warned.get(topic)?.digest !== digest;
    this.#warned.set(topic, { digest, at: this.#now() });
    this.#prune();
    return isNews;
  }

  /** Forgets warnings that are no longer repeated: their objects are gone, or nothing is wrong any longer. */
  #prune(): void {
    const oldest = this.#now() - WARNED_MS;
    if (this.#prunedAt > oldest) return;
    this.#prunedAt = this.#now();
    for (const [topic, { at }] of this.#warned) if (at < oldest) this.#warned.delete(topic);
  }

  async #repeat(object: KubeObject, known: Written): Promise<boolean> {
    known.count += 1;
    const path = paths.event(namespaceOf(object), known.name);
    const lastTimestamp = new Date().toISOString();
    try {
      await this.#client.patch(path, "merge", { count: known.count, lastTimestamp });
      return true;
    } catch {
      return false; // expired after an hour, or deleted: create a new one
    }
  }

  async #create({ kind, object, type, reason, message, component }: EventInput, key: string): Promise<void> {
    const { name: objectName = "", uid } = object.metadata ?? {};
    const namespace = namespaceOf(object);
    const now = new Date();
    const suffix = createHash("sha256").update(`${key}${now.getTime()}`).digest("hex").slice(0, 16);
    const name = `${objectName}.${suffix}`;
    this.#written.set(key, { name, count: 1 });
    await this.#client.create(paths.event(namespace), {
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
}

/** Mistakes (which have an occasion) and failed runs share a reason but are separate topics. */
function topicOf({ object, reason, occasion }: Pick<EventInput, "object" | "reason" | "occasion">): string {
  return `${object.metadata?.uid} ${reason}${occasion === undefined ? "" : " on occasion"}`;
}

/** Events on cluster-scoped objects are stored in `default`. */
function namespaceOf(object: KubeObject): string {
  return object.metadata?.namespace ?? "default";
}
