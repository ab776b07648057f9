import type { ActionDurations } from "./state/actions.ts";
import type { Clock } from "./state/clock.ts";

/** Requests per hour and project; the bucket refills continuously. */
export interface RateLimitOptions {
  readonly perHour: number;
}

/** Behaviour that differs between tests. The first five are not documented by Hetzner; the README lists the defaults. */
export interface Behaviour {
  /** How long actions run, in milliseconds: one for all or by command. */
  readonly actionMs: ActionDurations;
  /** A second write to the same balancer, network, … while one is in flight is a `conflict`. */
  readonly strictRaces: boolean;
  /** A write to a balancer or network whose action still runs is a `conflict` as well. */
  readonly conflictWhileActionRuns: boolean;
  /** Deleted balancers and servers stay listed (and keep their name) until the delete action ends. */
  readonly lingeringDeletes: boolean;
  /** Private targets are refused for this long after a balancer was attached to a network. */
  readonly attachLagMs: number;
  /** Servers and balancers that may be attached to one network. */
  readonly maxNetworkMembers: number;
  /** Issuance of managed certificates for names under this domain fails. */
  readonly failingDomain: string;
}

/** Defaults of all switches; the README lists them too. */
export const DEFAULT_BEHAVIOUR: Behaviour = {
  actionMs: 0,
  strictRaces: true,
  conflictWhileActionRuns: false,
  lingeringDeletes: false,
  attachLagMs: 0,
  maxNetworkMembers: 100,
  failingDomain: "fail.example",
};

/** Durations seen on the real API, rounded; for demonstrations that should feel right. */
export const REALISTIC_ACTION_MS: Readonly<Record<string, number>> = {
  "*": 1000,
  create_server: 9000,
  start_server: 3000,
  change_server_type: 20_000,
  rebuild_server: 15_000,
  create_load_balancer: 2000,
  change_load_balancer_type: 3000,
  create_certificate: 45_000,
  issue_certificate: 45_000,
};

/** How the data plane runs. */
export interface DataPlaneOptions {
  /** Health checks run this much faster than configured: 0.01 makes an interval of 15 s 150 ms. Default 1. */
  readonly timeScale?: number;
}

/** How to start a cloud; everything has a default that suits tests. */
export interface CloudOptions extends Partial<Omit<Behaviour, "actionMs">> {
  /** 0 or absent takes a free port; the server always binds to 127.0.0.1. */
  readonly port?: number;
  /** The one valid token; absent means any 64-character token is valid. */
  readonly token?: string;
  /** A second token that may only read. */
  readonly readOnlyToken?: string;
  /** Added to every API answer. */
  readonly latencyMs?: number;
  /** How long actions run: milliseconds, by command, or Hetzner-like. Default 0, done at once. */
  readonly actionMs?: ActionDurations | "realistic";
  /** Balancers really listen, on addresses of 127.0.0.0/8. */
  readonly dataPlane?: boolean | DataPlaneOptions;
  /** Default 3600 per hour, as on the real API. */
  readonly rateLimit?: RateLimitOptions | "off";
  /** Ids count up from here. */
  readonly firstId?: number;
  /** Time of actions, timestamps and the rate limit; a `ManualClock` makes them deterministic. */
  readonly clock?: Clock;
}
