/** Request, steps and report of one run, as plain data that is sent between processes. */
import type { UnitId, UnitSpec, UnitStates } from "../units/spec.ts";

/** Requests one run. It can only change the units in `units` and `removals`. */
export interface RunRequest {
  readonly mode: "apply" | "preview";
  /** Units to create or change. */
  readonly units: readonly UnitSpec[];
  /** Units to delete. */
  readonly removals: readonly UnitId[];
  /** What exists of these units. The run starts from a state that is made from it. */
  readonly existing: UnitStates;
  /** How the plugin reaches the API during this run. */
  readonly access: { readonly endpoint: string; readonly token: string };
}

/** A change of one resource, made or (in a preview) proposed. */
export interface Change {
  readonly unit: UnitId;
  /** The resource inside the unit, e.g. `listener-80`. */
  readonly part: string;
  readonly operation: "create" | "update" | "replace" | "delete";
  /** Changed properties, for updates and replacements. */
  readonly fields: readonly string[];
}

/** A change in progress. */
export interface Step extends Change {
  readonly phase: "started" | "done" | "failed";
}

/** Why a unit does not match its spec after a run. */
export interface Failure {
  /** The API's error code, or one of ours: `engine`, `plugin`, `deadline`, `worker-died`. */
  readonly code: string;
  /** Text for users, without engine jargon. */
  readonly message: string;
  readonly retry: "soon" | "backoff" | "never";
}

/** How a run ended for one unit. */
export type UnitOutcome =
  | { readonly status: "applied"; readonly changes: readonly Change[] }
  | { readonly status: "failed"; readonly changes: readonly Change[]; readonly failure: Failure };

/** How a run ended. Every requested unit has an outcome. */
export interface RunReport {
  readonly outcomes: Readonly<Record<string, UnitOutcome>>;
  readonly durationMs: number;
}
