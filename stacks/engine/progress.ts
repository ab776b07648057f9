/** A fold over engine events: steps as they happen, and finally the outcome of each unit. */
import type { EngineEvent, StepEventMetadata } from "@pulumi/pulumi/automation/index.js";
import { unitOfUrn } from "../units/names.ts";
import type { UnitId } from "../units/spec.ts";
import { parseFailure, stripMarkup } from "./errors.ts";
import type { Change, Failure, Step, UnitOutcome } from "./run.ts";

/** The changes and errors of a run so far. */
export interface Progress {
  readonly changes: Map<UnitId, Change[]>;
  readonly failures: Map<UnitId, Failure>;
  /** Errors that belong to no unit, such as a failure of the engine itself. */
  readonly general: string[];
}

/** The progress of a run that has not started. */
export function newProgress(): Progress {
  return { changes: new Map(), failures: new Map(), general: [] };
}

/** Adds one event. Returns the step it describes, if it concerns a resource of a unit. */
export function advance(progress: Progress, event: EngineEvent): Step | undefined {
  if (event.diagnosticEvent?.severity === "error") {
    noteError(progress, event.diagnosticEvent.urn, event.diagnosticEvent.message);
  }
  if (event.resourcePreEvent) return stepOf(event.resourcePreEvent.metadata, "started");
  if (event.resOpFailedEvent) return stepOf(event.resOpFailedEvent.metadata, "failed");
  if (event.resOutputsEvent) {
    const step = stepOf(event.resOutputsEvent.metadata, "done");
    if (step) append(progress.changes, step);
    return step;
  }
  return undefined;
}

/** The outcome of every requested unit. A unit without an error of its own fails only if the run failed as a whole. */
export function outcomesOf(
  progress: Progress,
  units: readonly UnitId[],
  ended: Ending,
): Readonly<Record<string, UnitOutcome>> {
  const isExplained = ended.ok || units.some((unit) => progress.failures.has(unit));
  const general = isExplained
    ? undefined
    : (ended.failure ?? parseFailure(progress.general.join("\n") || ended.output));
  const outcomeOf = (unit: UnitId): UnitOutcome => {
    const changes = progress.changes.get(unit) ?? [];
    const failure = progress.failures.get(unit) ?? general;
    return failure ? { status: "failed", changes, failure } : { status: "applied", changes };
  };
  return Object.fromEntries(units.map((unit) => [unit, outcomeOf(unit)]));
}

/** How the command line ended. `failure` is set if the cause is known without its output. */
export interface Ending {
  readonly ok: boolean;
  readonly output: string;
  readonly failure?: Failure;
}

function noteError(progress: Progress, urn: string | undefined, message: string): void {
  const unit = urn === undefined ? undefined : unitOfUrn(urn);
  if (!unit) progress.general.push(stripMarkup(message).trim());
  else if (!progress.failures.has(unit)) progress.failures.set(unit, parseFailure(message));
}

const OPERATIONS: Readonly<Record<string, Change["operation"]>> = {
  create: "create",
  update: "update",
  delete: "delete",
  replace: "replace",
};

function stepOf(metadata: StepEventMetadata, phase: Step["phase"]): Step | undefined {
  const unit = unitOfUrn(metadata.urn);
  const operation = OPERATIONS[metadata.op];
  const part = metadata.urn.split("#")[1];
  if (!unit || !operation || part === undefined) return undefined;
  return { unit, part, operation, fields: metadata.diffs ?? [], phase };
}

function append(changes: Progress["changes"], { phase: _, ...change }: Step): void {
  const list = changes.get(change.unit);
  if (list) list.push(change);
  else changes.set(change.unit, [change]);
}
