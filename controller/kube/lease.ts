/**
 * Leader election by a Lease, as upstream does it: whoever holds it renews it every few seconds; whoever wants it waits until
 * it has not been renewed for its whole duration. The holder counts from the moment it asked, and gives up well before
 * the others may take over, so that there is never more than one.
 */
import type { LeaseConfig } from "../config/config.ts";
import { ifFound, isConflict, isNotFound, messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { type Clock, SYSTEM_CLOCK } from "../work/clock.ts";
import { type KubeClient, paths } from "./client.ts";

/** Whether this process may write. */
export interface Leadership {
  /** True while no other process can be the leader. To be asked at the last moment before each write. */
  readonly isHeld: boolean;
  /** Resolves when leadership was held and is lost. */
  readonly lost: Promise<string>;
  /** Waits to become the leader. False when the signal fired first. */
  acquire(signal: AbortSignal): Promise<boolean>;
  /** Hands over: the next one need not wait. */
  release(): Promise<void>;
}

/** The leadership of a process that is known to be alone. */
export const ALONE: Leadership = {
  isHeld: true,
  lost: new Promise(() => {}),
  acquire: async () => true,
  release: async () => {},
};

export interface LeaseObject {
  readonly metadata: {
    readonly name: string;
    readonly namespace: string;
    readonly uid?: string;
    readonly resourceVersion?: string;
  };
  readonly spec?: {
    readonly holderIdentity?: string | null;
    readonly leaseDurationSeconds?: number;
    readonly acquireTime?: string;
    readonly renewTime?: string;
    readonly leaseTransitions?: number;
  };
}

export interface LeaseParts {
  readonly client: Pick<KubeClient, "get" | "create" | "replace">;
  readonly config: LeaseConfig;
  /** Who we are; no other process may be called the same. */
  readonly identity: string;
  readonly log: Logger;
  /** Tells whoever looks at the Lease. */
  readonly tell?: (lease: LeaseObject, message: string) => Promise<void>;
  readonly clock?: Clock;
}

export class LeaderLease implements Leadership {
  readonly #parts: LeaseParts;
  readonly #clock: Clock;
  readonly #lost = Promise.withResolvers<string>();
  readonly #stop = new AbortController();
  /** As last seen or written, and since when it has been like this. */
  #record: LeaseObject | undefined;
  #since = 0;
  /** As it was before somebody deleted it. */
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
        if (await this.#take()) {
          log.info({ lease: config.name, identity }, "leading");
          this.#keeping = this.#keep();
          await this.#tell("became leader");
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
    await this.#tell("stopped leading");
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

  /** Renews until it is told to stop, or the lease is lost. */
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
      // After a failure there is little time: the next try comes sooner.
      pauseMs = outcome === "renewed" ? retryMs : retryMs / 4;
    }
  }

  async #tell(what: string): Promise<void> {
    const { tell, identity } = this.#parts;
    if (this.#record) await tell?.(this.#record, `${identity} ${what}`);
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
      // Somebody wrote it, or an answer to us was lost: only a look tells.
      await this.#look();
      if (this.#record && this.#record.spec?.holderIdentity !== this.#parts.identity) return "taken";
      return (await this.#write(this.#record)) ? "renewed" : "failed";
    } catch (error) {
      this.#parts.log.warn({ error: messageOf(error) }, "lease renewal failed, retrying");
      return "failed";
    }
  }

  /** One try to get it. */
  async #take(): Promise<boolean> {
    const before = this.#record;
    await this.#look();
    // A lease that somebody deletes still has a holder, who does not know yet.
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

  async #look(): Promise<void> {
    const { client, config } = this.#parts;
    this.#note(await ifFound(client.get<LeaseObject>(paths.lease(config.namespace, config.name))));
  }

  #note(record: LeaseObject | undefined): void {
    if (record?.metadata.resourceVersion !== this.#record?.metadata.resourceVersion) this.#since = this.#clock.now();
    this.#record = record;
  }

  /** Writes us into the lease. False when somebody else was faster. */
  async #write(before: LeaseObject | undefined): Promise<boolean> {
    const { client, config, identity } = this.#parts;
    const sent = { monotonicMs: this.#clock.now(), wallMs: this.#clock.wallTime() };
    const lease = claim(before, config, identity, microTime(sent.wallMs));
    try {
      if (before) await this.#replace(lease);
      else this.#note(await client.create<LeaseObject>(paths.lease(config.namespace), lease));
    } catch (error) {
      if (isConflict(error) || isNotFound(error)) return false;
      throw error;
    }
    this.#renewed = sent;
    return true;
  }

  async #replace(lease: LeaseObject): Promise<void> {
    const { client, config } = this.#parts;
    this.#note(await client.replace<LeaseObject>(paths.lease(config.namespace, config.name), lease));
  }
}

/** The lease with us as its holder. Its version goes along, so that it holds only for what was seen. */
function claim(before: LeaseObject | undefined, config: LeaseConfig, identity: string, now: string): LeaseObject {
  const isOurs = before?.spec?.holderIdentity === identity;
  const transitions = before?.spec?.leaseTransitions ?? 0;
  return {
    metadata: before?.metadata ?? { name: config.name, namespace: config.namespace },
    spec: {
      ...before?.spec,
      holderIdentity: identity,
      leaseDurationSeconds: Math.round(config.durationMs / 1000),
      renewTime: now,
      ...(!isOurs && { acquireTime: now, leaseTransitions: before ? transitions + 1 : 0 }),
    },
  };
}

/** Leases have their times to the microsecond, and the API server wants to see all six digits. */
function microTime(ms: number): string {
  return new Date(ms).toISOString().replace("Z", "000Z");
}
