/** One run of the engine: what is asked, what is reported while it goes on, what comes out. Plain data: it crosses processes. */

import type { UnitId, UnitState } from "../units/spec.ts";
import type { Declaration } from "./program.ts";

/** Asks for one run. Only units named in `units` or `removals` can be touched. */
export interface RunRequest extends Declaration {
  readonly mode: "apply" | "preview";
  /** Units to delete. */
  readonly removals: readonly UnitId[];
  /**
   * What the cloud has of the units above, and of any others: the state is to know them all. It replaces what the stack's
   * state says of them before the engine starts.
   */
  readonly existing: Readonly<Partial<Record<UnitId, UnitState>>>;
  /** How the plugin reaches the API during this run. */
  readonly access: { readonly endpoint: string; readonly token: string };
}

/** What the engine did, or in a preview would do, to one resource. */
export interface Change {
  readonly unit: UnitId;
  /** The resource inside the unit, e.g. `listener-80`. */
  readonly part: string;
  readonly operation: "create" | "update" | "replace" | "delete";
  /** Changed properties, for updates and replacements. */
  readonly fields: readonly string[];
}

/** A change as it happens. */
export interface Step extends Change {
  readonly phase: "started" | "done" | "failed";
}

/** Why a unit did not reach what was wanted. */
export interface Failure {
  /** The API's error code, or one of ours: `engine`, `deadline`, `worker-died`. */
  readonly code: string;
  /** In words for the user, without engine jargon. */
  readonly message: string;
  readonly retry: "soon" | "backoff" | "never";
}

/** How a run ended for one unit. */
export type UnitOutcome =
  | { readonly status: "applied"; readonly changes: readonly Change[] }
  | { readonly status: "failed"; readonly changes: readonly Change[]; readonly failure: Failure };

/** How a run ended. Every unit asked for has an outcome. */
export interface RunReport {
  readonly outcomes: Readonly<Record<string, UnitOutcome>>;
  readonly durationMs: number;
}
