/** A fold over engine events: steps as they happen, and finally the outcome of each unit. */
import type { EngineEvent, StepEventMetadata } from "@pulumi/pulumi/automation/index.js";
import { unitOfUrn } from "../units/names.ts";
import type { UnitId } from "../units/spec.ts";
import { parseFailure, stripMarkup } from "./errors.ts";
import type { Change, Failure, RunReport, Step, UnitOutcome } from "./run.ts";

/** One step of the engine, for any resource. */
export interface ResourceStep {
  readonly urn: string;
  readonly type: string;
  /** The engine's name: `create`, `update`, `delete`, `replace`, `create-replacement`, `delete-replaced`, `same`, … */
  readonly operation: string;
  /** Changed properties, for updates and replacements. */
  readonly fields: readonly string[];
  readonly phase: Step["phase"];
}

/** The step that an event describes; undefined if it describes none. */
export function resourceStepOf(event: EngineEvent): ResourceStep | undefined {
  const { resourcePreEvent, resOpFailedEvent, resOutputsEvent } = event;
  const toStep = ({ urn, type, op, diffs }: StepEventMetadata, phase: Step["phase"]): ResourceStep => {
    return { urn, type, operation: op, fields: diffs ?? [], phase };
  };
  if (resourcePreEvent) return toStep(resourcePreEvent.metadata, "started");
  if (resOpFailedEvent) return toStep(resOpFailedEvent.metadata, "failed");
  return resOutputsEvent && toStep(resOutputsEvent.metadata, "done");
}

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
  const found = resourceStepOf(event);
  const step = found && unitStepOf(found);
  if (step?.phase === "done") append(progress.changes, step);
  // The deletion of a replaced resource is part of the replacement, which is a step of its own.
  return found?.operation === "delete-replaced" ? undefined : step;
}

/**
 * The outcome of every requested unit. A unit without an error of its own fails if the run was ended before it finished, or
 * failed without an error of any unit.
 */
export function outcomesOf(progress: Progress, units: readonly UnitId[], ended: Ending): RunReport["outcomes"] {
  const isExplained = ended.ok || units.some((unit) => progress.failures.has(unit));
  const unexplained = isExplained ? undefined : parseFailure(progress.general.join("\n") || ended.output);
  const general = ended.failure ?? unexplained;
  const outcomeOf = (unit: UnitId): UnitOutcome => {
    const changes = progress.changes.get(unit) ?? [];
    const failure = progress.failures.get(unit) ?? general;
    return failure ? { status: "failed", changes, failure } : { status: "applied", changes };
  };
  return Object.fromEntries(units.map((unit) => [unit, outcomeOf(unit)]));
}

/** The failures of a run, by unit. */
export function failuresIn(outcomes: RunReport["outcomes"]): readonly (readonly [unit: string, Failure])[] {
  return Object.entries(outcomes).flatMap(([unit, outcome]) =>
    outcome.status === "failed" ? [[unit, outcome.failure] as const] : [],
  );
}

/** How the command line ended. `failure` is set if it did not finish the run. */
export interface Ending {
  readonly ok: boolean;
  readonly output: string;
  readonly failure?: Failure;
}

function noteError(progress: Progress, urn: string | undefined, message: string): void {
  const unit = urn === undefined ? undefined : unitOfUrn(urn);
  if (!unit) progress.general.push(stripMarkup(message).trim());
  else if (!progress.failures.has(unit)) progress.failures.set(unit, parseFailure(message, "plugin"));
}

const OPERATIONS: Readonly<Record<string, Change["operation"]>> = {
  create: "create",
  update: "update",
  delete: "delete",
  replace: "replace",
  // Of a resource that is not declared again, because another one that it depends on is replaced.
  "delete-replaced": "delete",
};

function unitStepOf({ urn, operation: name, fields, phase }: ResourceStep): Step | undefined {
  const unit = unitOfUrn(urn);
  const operation = OPERATIONS[name];
  const part = urn.split("#")[1];
  if (!unit || !operation || part === undefined) return undefined;
  return { unit, part, operation, fields, phase };
}

/** A replacement consists of several steps in either order, and counts once. */
function append(changes: Progress["changes"], { phase: _, ...change }: Step): void {
  const others = (changes.get(change.unit) ?? []).filter(({ part }) => part !== change.part);
  const same = changes.get(change.unit)?.find(({ part }) => part === change.part);
  changes.set(change.unit, [...others, same?.operation === "replace" ? same : change]);
}

const DONE: Readonly<Record<string, string>> = {
  create: "created",
  "create-replacement": "recreated",
  update: "changed",
  delete: "deleted",
  "delete-replaced": "deleted",
};

/** A finished change of a resource in words, such as `server dev-worker-1 created`; undefined for every other step. */
export function describeStep({ phase, operation, urn, type }: ResourceStep): string | undefined {
  const done = DONE[operation];
  return phase === "done" && done && !type.startsWith("lotse:") ? `${describeResource(urn)} ${done}` : undefined;
}

const SIGNS: Readonly<Record<string, string>> = { create: "+", update: "~", delete: "-", replace: "±" };

/** A planned change in words, such as `~ update server dev-worker-1 (labels)`. */
export function describePlan({ operation, urn, fields }: ResourceStep): string {
  const changed = fields.length > 0 ? ` (${fields.join(", ")})` : "";
  return `${SIGNS[operation]} ${operation} ${describeResource(urn)}${changed}`;
}

/** A resource in words: `server dev-worker-1` for the part `server-1` of `dev-worker`, `placement group dev-worker`. */
export function describeResource(urn: string): string {
  const [, , types = "", ...rest] = urn.split("::");
  const kind = describeType(types);
  const [component = "", part = ""] = rest.join("::").split("#");
  const word = [kind.replaceAll(" ", "-"), kind.split(" ").at(-1) ?? ""].find((it) => part.startsWith(it));
  return `${kind} ${component}${word === undefined ? part && ` ${part}` : part.slice(word.length)}`;
}

/** A type in words: `placement group` for `hcloud:index/placementGroup:PlacementGroup`. */
function describeType(type: string): string {
  return (type.split(":").at(-1) ?? "").replace(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}
