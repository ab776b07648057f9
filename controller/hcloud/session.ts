/** A run's access to the gateway, and what the gateway remembers of the run. */
import { timingSafeEqual } from "node:crypto";
import type { RunRequest } from "../../stacks/engine/run.ts";
import type { Action } from "./action-watch.ts";
import type { ApiResponse } from "./exchange.ts";
import type { RunInfo } from "./sender.ts";

/** Address and token with which a run reaches the gateway. */
export type Credential = RunRequest["access"];

/** Access of one run. */
export interface RunAccess extends Credential {
  /**
   * Revokes the credential. Resolves when the requests in flight have been answered, so that a list read afterwards shows
   * everything that the run has done.
   */
  close(): Promise<void>;
}

/** A run, from `open` to `close`. */
export interface Session extends RunInfo {
  readonly token: string;
  /** Fires when the run has ended. */
  readonly ended: AbortController;
  /** Writes in flight. */
  readonly writes: Set<Promise<ApiResponse>>;
  /** Load balancers that the run created in one request, each with the action of its creation. */
  readonly made: Map<string, Action>;
  /** Load balancers that the run has detached from their network. The API may show it for a moment longer. */
  readonly detached: Set<string>;
}

/** A new session with nothing done. */
export function newSession(info: RunInfo, token: string): Session {
  return { ...info, token, ended: new AbortController(), writes: new Set(), made: new Map(), detached: new Set() };
}

/** Whether a request comes from the run: it carries the token of its credential. */
export function isBearer(header: string | undefined, { token }: Pick<Credential, "token">): boolean {
  const given = Buffer.from(header ?? "");
  const wanted = Buffer.from(`Bearer ${token}`);
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
