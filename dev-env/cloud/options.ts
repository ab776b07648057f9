/** Options of a cloud, with their defaults. */
import type { ActionDurations } from "./state/actions.ts";
import type { Clock } from "./state/clock.ts";

/** Switches for behaviour that tests need both ways. The first five are not documented by Hetzner. */
export interface Behaviour {
  /** Duration of actions in milliseconds, for all or by command. */
  readonly actionMs: ActionDurations;
  /** A second write to the same load balancer, network, … while one is in flight is a `conflict`. */
  readonly strictRaces: boolean;
  /** A write to a load balancer or network with a running action is a `conflict`, too. */
  readonly conflictWhileActionRuns: boolean;
  /** Deleted load balancers and servers stay listed, with their name, until the delete action ends. */
  readonly lingeringDeletes: boolean;
  /** How long private targets are rejected after a load balancer was attached to a network. */
  readonly attachLagMs: number;
  /** Maximum number of servers and load balancers in a network. */
  readonly maxNetworkMembers: number;
  /** Managed certificates for names in this domain fail to be issued. */
  readonly failingDomain: string;
}

/** Defaults of all switches. */
export const DEFAULT_BEHAVIOUR: Behaviour = {
  actionMs: 0,
  strictRaces: true,
  conflictWhileActionRuns: false,
  lingeringDeletes: false,
  attachLagMs: 0,
  maxNetworkMembers: 100,
  failingDomain: "fail.example",
};

/** Rounded durations of the real API, for demonstrations. */
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
  /** Factor for the intervals of health checks: 0.01 turns 15 s into 150 ms. Default 1. */
  readonly timeScale?: number;
  /**
   * Servers and load balancers are reached at their own public and private addresses, which the caller has made routable
   * (dev-env/nodes), instead of at loopback addresses.
   */
  readonly isRouted?: boolean;
}

/** Options of a cloud. The defaults suit tests. */
export interface CloudOptions extends Partial<Omit<Behaviour, "actionMs">> {
  /** Address to listen on. Default 127.0.0.1. */
  readonly host?: string;
  /** Port to listen on; 0 or absent selects a free one. */
  readonly port?: number;
  /** The only valid token; absent means that any 64-character token is valid. */
  readonly token?: string;
  /** An additional token with read access. */
  readonly readOnlyToken?: string;
  /** Delay of every response. */
  readonly latencyMs?: number;
  /** Duration of actions: milliseconds, by command, or as in the real cloud. Default 0: they end at once. */
  readonly actionMs?: ActionDurations | "realistic";
  /** Makes load balancers accept traffic, on addresses in 127.0.0.0/8. */
  readonly dataPlane?: boolean | DataPlaneOptions;
  /** Default 3600 per hour, as in the real API. */
  readonly rateLimit?: { readonly perHour: number } | "off";
  /** The first id. */
  readonly firstId?: number;
  /** Time for actions, timestamps and the rate limit; a `ManualClock` makes them deterministic. */
  readonly clock?: Clock;
}
