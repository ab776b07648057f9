/**
 * Leader election with a Lease, as upstream does it. The holder renews the Lease every few seconds; candidates wait until it
 * has not been renewed for its whole duration. The holder counts from when it sent the renewal and gives up well before a
 * candidate may take over, so there is never more than one leader.
 */
import type { LeaseConfig } from "../config/config.ts";
import { ifFound, isConflict, isNotFound, messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { type Clock, SYSTEM_CLOCK } from "../work/clock.ts";
import type { KubeClient } from "./client.ts";
import type { KubeObject } from "./informer.ts";
import { paths } from "./paths.ts";

/** Whether this process may write. */
export interface Leadership {
  /** True while no other process can be the leader. Check it right before each write. */
  readonly isHeld: boolean;
  /** Resolves with the reason when leadership is lost. */
  readonly lost: Promise<string>;
  /** Waits until this process is the leader. Returns false when the signal fires first. */
  acquire(signal: AbortSignal): Promise<boolean>;
  /** Gives the Lease up, so that the next leader need not wait. */
  release(): Promise<void>;
}

/** Leadership of a process that runs without leader election. */
export const ALONE: Leadership = {
  isHeld: true,
  lost: new Promise(() => {}),
  acquire: async () => true,
  release: async () => {},
};

/** A Lease, as the API server returns it. */
export interface LeaseObject {
  readonly metadata: NonNullable<KubeObject["metadata"]> & { readonly name: string; readonly namespace: string };
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

interface LeaseParts {
  readonly client: Pick<KubeClient, "get" | "create" | "replace">;
  readonly config: LeaseConfig;
  /** Identity of this process; must be unique among all candidates. */
  readonly identity: string;
  readonly log: Logger;
  /** Publishes an Event on the Lease. */
  readonly announce?: (lease: LeaseObject, message: string) => Promise<void>;
  readonly clock?: Clock;
}

/** Leadership by holding a Lease. */
export class LeaderLease implements Leadership {
  readonly #parts: LeaseParts;
  readonly #clock: Clock;
  readonly #lost = Promise.withResolvers<string>();
  readonly #stop = new AbortController();
  /** The Lease as last read or written, and since when it has been unchanged. */
  #record: LeaseObject | undefined;
  #since = 0;
  /** The Lease as it was before it was deleted. */
  #orphaned: LeaseObject | undefined;
  /**
   * When the last successful renewal was sent, by both clocks, because each has a blind spot: the monotonic one stands
   * still while a machine is suspended, the other can be set.
   */
  #renewed: { readonly monotonicMs: number; readonly wallMs: number } | undefined;
  #keeping: Promise<void> | undefined;

  constructor(parts: LeaseParts) {
    this.#parts = parts;
    this.#clock = parts.clock ?? SYSTEM_CLOCK;
  }

  get isHeld(): boolean {
    if (!this.#renewed) return false;
    const monotonic = this.#clock.now() - this.#renewed.monotonicMs;
    const wall = this.#clock.wallTime() - this.#renewed.wallMs;
    return Math.max(monotonic, wall) < this.#parts.config.deadlineMs;
  }

  get lost(): Promise<string> {
    return this.#lost.promise;
  }

  async acquire(signal: AbortSignal): Promise<boolean> {
    const { config, log, identity } = this.#parts;
    let holder: string | undefined;
    while (!signal.aborted) {
      try {
        if (await this.#tryAcquire()) {
          log.info({ lease: config.name, identity }, "leading");
          this.#keeping = this.#keep();
          await this.#announce("became leader");
          return true;
        }
        const { holderIdentity } = this.#record?.spec ?? {};
        if (holderIdentity && holderIdentity !== holder)
          log.info({ lease: config.name, leader: holderIdentity }, "standing by");
        holder = holderIdentity ?? undefined;
      } catch (error) {
        log.warn({ lease: config.name, error: messageOf(error) }, "lease unreadable, retrying");
      }
      await this.#clock.pause(config.retryMs * (1 + Math.random()), signal);
    }
    return false;
  }

  async release(): Promise<void> {
    this.#stop.abort();
    await this.#keeping;
    if (!this.isHeld || !this.#record) return;
    await this.#announce("stopped leading");
    this.#renewed = undefined;
    const spec = {
      ...this.#record.spec,
      holderIdentity: "",
      leaseDurationSeconds: 1,
      renewTime: microTime(this.#clock.wallTime()),
    };
    await this.#replace({ ...this.#record, spec }).catch((error: unknown) => {
      this.#parts.log.warn(
        { error: messageOf(error) },
        "lease not released, the next leader has to wait until it expires",
      );
    });
  }

  /** Renews until `release` is called or the lease is lost. */
  async #keep(): Promise<void> {
    const { retryMs } = this.#parts.config;
    let pauseMs = retryMs;
    for (;;) {
      await this.#clock.pause(Math.min(pauseMs, this.#remainingMs()), this.#stop.signal);
      if (this.#stop.signal.aborted) return;
      if (!this.isHeld) return this.#lose("the lease was not renewed in time");
      const outcome = await this.#renew();
      if (outcome === "taken")
        return this.#lose(`${this.#record?.spec?.holderIdentity || "another replica"} took over`);
      // After a failure little time is left, so the next attempt comes sooner.
      pauseMs = outcome === "renewed" ? retryMs : retryMs / 4;
    }
  }

  async #announce(what: string): Promise<void> {
    const { announce, identity } = this.#parts;
    if (this.#record) await announce?.(this.#record, `${identity} ${what}`);
  }

  #lose(reason: string): void {
    this.#renewed = undefined;
    this.#lost.resolve(reason);
  }

  #remainingMs(): number {
    const age = this.#clock.now() - (this.#renewed?.monotonicMs ?? 0);
    return Math.max(0, this.#parts.config.deadlineMs - age);
  }

  async #renew(): Promise<"renewed" | "taken" | "failed"> {
    try {
      if (this.#record && (await this.#write(this.#record))) return "renewed";
      // Another process wrote the lease, or the response to our write was lost: read it to find out.
      await this.#read();
      if (this.#record && this.#record.spec?.holderIdentity !== this.#parts.identity) return "taken";
      return (await this.#write(this.#record)) ? "renewed" : "failed";
    } catch (error) {
      this.#parts.log.warn({ error: messageOf(error) }, "lease renewal failed, retrying");
      return "failed";
    }
  }

  async #tryAcquire(): Promise<boolean> {
    const before = this.#record;
    await this.#read();
    // The holder of a deleted lease does not know yet that it is gone.
    if (!this.#record && before) this.#orphaned = before;
    const last = this.#record ?? this.#orphaned;
    const holder = last?.spec?.holderIdentity;
    if (last && holder && holder !== this.#parts.identity && !this.#isExpired(last)) return false;
    return this.#write(this.#record);
  }

  #isExpired({ spec }: LeaseObject): boolean {
    const durationMs = (spec?.leaseDurationSeconds ?? 0) * 1000 || this.#parts.config.durationMs;
    return this.#clock.now() - this.#since >= durationMs;
  }

  async #read(): Promise<void> {
    const { client, config } = this.#parts;
    this.#remember(await ifFound(client.get<LeaseObject>(paths.lease(config.namespace, config.name))));
  }

  #remember(record: LeaseObject | undefined): void {
    if (record?.metadata.resourceVersion !== this.#record?.metadata.resourceVersion) this.#since = this.#clock.now();
    this.#record = record;
  }

  /** Writes this process into the lease. Returns false when another process wrote first. */
  async #write(before: LeaseObject | undefined): Promise<boolean> {
    const { client, config, identity } = this.#parts;
    const sent = { monotonicMs: this.#clock.now(), wallMs: this.#clock.wallTime() };
    const lease = claim(before, config, identity, microTime(sent.wallMs));
    try {
      if (before) await this.#replace(lease);
      else this.#remember(await client.create<LeaseObject>(paths.lease(config.namespace), lease));
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      throw error;
    }
    this.#renewed = sent;
    return true;
  }

  async #replace(lease: LeaseObject): Promise<void> {
    const { client, config } = this.#parts;
    this.#remember(await client.replace<LeaseObject>(paths.lease(config.namespace, config.name), lease));
  }
}

/** The lease with `identity` as its holder. It keeps its resourceVersion, so the write fails if the lease has changed. */
function claim(before: LeaseObject | undefined, config: LeaseConfig, identity: string, now: string): LeaseObject {
  const isOurs = before?.spec?.holderIdentity === identity;
  const transitions = before?.spec?.leaseTransitions ?? 0;
  return {
    metadata: before?.metadata ?? { name: config.name, namespace: config.namespace },
    spec: {
      ...before?.spec,
      holderIdentity: identity,
      leaseDurationSeconds: Math.ceil(config.durationMs / 1000), // never less than candidates have to wait
      renewTime: now,
      ...(!isOurs && { acquireTime: now, leaseTransitions: before ? transitions + 1 : 0 }),
    },
  };
}

/** The API server expects Lease times with exactly six decimals. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
