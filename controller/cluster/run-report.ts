/** What a run did, for the log and the status. */
import type { RunReport, Step } from "../../stacks/run.ts";
import type { Logger } from "../log.ts";
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

/** One line for each change in the cloud. */
export function logStep(log: Logger, run: string, { unit, part, operation, fields, phase }: Step): void {
  if (phase === "started") log.debug({ run, unit, part, operation }, "change started");
  else if (phase === "done")
    log.info({ run, unit, part, operation, ...(fields.length > 0 && { fields }) }, "cloud changed");
  else log.warn({ run, unit, part, operation }, "change failed");
}

export function logReport(log: Logger, run: string, { outcomes, durationMs }: RunReport): void {
  const units = Object.entries(outcomes);
  for (const [unit, outcome] of units) {
    if (outcome.status === "failed") log.warn({ run, unit, ...outcome.failure }, "unit failed");
  }
  log.info({ run, units: units.length, durationMs }, "run finished");
}
