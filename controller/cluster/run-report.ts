/** What a run did, for the status. */
import type { RunReport } from "../../stacks/run.ts";
import type { LastRun } from "../record/status-board.ts";

/** A run in a few words, for the status. */
export function lastRunOf(run: string, { outcomes, durationMs }: RunReport): LastRun {
  const failed = Object.entries(outcomes).flatMap(([unit, outcome]) =>
    outcome.status === "failed" ? [[unit, outcome.failure.message]] : [],
  );
  const at = new Date().toISOString();
  return { run, at, units: Object.keys(outcomes).length, failed: Object.fromEntries(failed), durationMs };
}

export function allApplied({ outcomes }: RunReport): boolean {
  return Object.values(outcomes).every((outcome) => outcome.status === "applied");
}
