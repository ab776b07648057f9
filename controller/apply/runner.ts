/** Runs the engine for all due steps, with the gateway open for that time, and logs and records every change with its reason. */
import type { Engine } from "../../stacks/engine/engine.ts";
import type { RunReport, RunRequest, Step } from "../../stacks/engine/run.ts";
import type { UnitId } from "../../stacks/units/spec.ts";
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { Drift } from "../guard/drift.ts";
import type { Plan, PlannedUnit } from "../guard/plan.ts";
import { objectOf, type ReasonContext, reasonFor } from "../guard/reason.ts";
import type { Credential, Gateway } from "../hcloud/gateway.ts";
import { changeEntries, outcomeEntries } from "../record/entry.ts";
import type { AuditRecord } from "../record/record.ts";
import type { LastRun } from "../record/status-board.ts";
import { insertKeys, privateKeys } from "../render/certificates.ts";
import type { Rendered } from "../render/cluster.ts";
import { attributionOf, newBalancers } from "./attribution.ts";

export interface RunnerParts {
  readonly engine: Pick<Engine, "run" | "saveState" | "warm">;
  readonly gateway: Pick<Gateway, "open" | "reserve">;
  /** Receives changes with their reasons, and outcomes. */
  readonly record?: Pick<AuditRecord, "add">;
  /** Where reasons for changes are looked up. */
  readonly context: (rendered: Rendered) => Promise<ReasonContext>;
  /** Called after every run. */
  readonly onReport?: (report: RunReport) => void;
  readonly log: Logger;
}

export class Runner {
  readonly #parts: RunnerParts;
  #lastRun: LastRun | undefined;
  /** Node records of the last successful run, as JSON. */
  #recorded = "";
  #runs = 0;
  #savedRuns = 0;
  /** The credential of the next run, for which the engine is warmed up. */
  #next: Credential | undefined;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
  }

  /** The last run that changed units. */
  get lastRun(): LastRun | undefined {
    return this.#lastRun;
  }

  /** One run for all due steps. There is no run when nothing is due and the Nodes' records are unchanged. */
  async apply(due: Plan, rendered: Rendered, drifted: readonly Drift[]): Promise<RunReport["outcomes"]> {
    const recorded = JSON.stringify(rendered.nodes);
    if (due.length === 0 && recorded === this.#recorded) return {};
    const { engine, gateway, record, onReport } = this.#parts;
    const run = `${Date.now().toString(36)}-${++this.#runs}`;
    const context = await this.#parts.context(rendered);
    const log = this.#parts.log.child({ run });
    const why = explainRun(due, drifted, context);
    const info = {
      run,
      mode: "apply",
      attribute: attributionOf(due, rendered.existing),
      newBalancer: newBalancers(due, rendered.existing),
      complete: insertKeys(privateKeys(rendered)),
    } as const;
    const access = gateway.open(info, this.#next);
    this.#next = undefined;
    if (due.length > 0) record?.add(changeEntries(run, due, context, new Date()));
    try {
      const report = await engine.run(runRequest("apply", due, rendered, access), (step) => logStep(log, step, why));
      onReport?.(report);
      if (allApplied(report)) this.#recorded = recorded;
      logReport(log, report);
      record?.add(outcomeEntries(run, report.outcomes, new Date()));
      if (due.length > 0) this.#lastRun = lastRunOf(run, report);
      return report.outcomes;
    } finally {
      await access.close();
    }
  }

  /** Saves the state and warms up the engine. Called last in a turn, so that users do not wait for it. */
  async settle(): Promise<void> {
    const { engine, gateway, log } = this.#parts;
    if (this.#savedRuns !== this.#runs) {
      this.#savedRuns = this.#runs;
      // The state can be rebuilt, so a failure is no reason to stop.
      await engine.saveState().catch((error: unknown) => {
        log.warn({ error: messageOf(error) }, "state not saved, retrying after the next run");
      });
    }
    if (this.#next) return;
    this.#next = gateway.reserve();
    await engine.warm(this.#next);
  }
}

/** The engine's request for a plan: its units, and the state of all units that exist. */
export function runRequest(
  mode: RunRequest["mode"],
  plan: Plan,
  rendered: Rendered,
  access: RunRequest["access"],
): RunRequest {
  return {
    mode,
    units: plan.flatMap((step) => (step.kind === "make" ? [step.spec] : [])),
    removals: plan.flatMap((step) => (step.kind === "remove" ? [step.unit] : [])),
    existing: rendered.existing,
    nodes: rendered.nodes,
    access: { endpoint: access.endpoint, token: access.token },
  };
}

function allApplied({ outcomes }: RunReport): boolean {
  return Object.values(outcomes).every((outcome) => outcome.status === "applied");
}

/** A summary for the status. */
function lastRunOf(run: string, { outcomes, durationMs }: RunReport): LastRun {
  const failed = Object.entries(outcomes).flatMap(([unit, outcome]) =>
    outcome.status === "failed" ? [[unit, outcome.failure.message]] : [],
  );
  const at = new Date().toISOString();
  return { run, at, units: Object.keys(outcomes).length, failed: Object.fromEntries(failed), durationMs };
}

/** The object that a unit is for, and the reason for its change. */
interface Why {
  readonly object: string;
  readonly reason: string;
}

/** The reason for each step, taken from its first difference. The reason for a new unit is that it should exist. */
function explainRun(due: Plan, drifted: readonly Drift[], context: ReasonContext): ReadonlyMap<UnitId, Why> {
  const outside = new Set(drifted.map(({ unit }) => unit));
  const reasonOf = (step: PlannedUnit) => {
    if (outside.has(step.unit)) return "it was changed outside the cluster";
    const isNew = context.rendered.existing[step.unit] === undefined;
    const [first] = isNew ? [{ field: "existence" }] : step.differences;
    return first ? reasonFor(step, first, context) : "";
  };
  return new Map(due.map((step) => [step.unit, { object: objectOf(step, context), reason: reasonOf(step) }]));
}

/** One line for each change in the cloud, with the object it is for and the reason. */
function logStep(log: Logger, { unit, part, operation, fields, phase }: Step, why: ReadonlyMap<UnitId, Why>): void {
  const facts = { ...why.get(unit), unit, part, operation };
  if (phase === "started") log.debug(facts, "change started");
  else if (phase === "failed") log.warn(facts, "change failed");
  else log.info({ ...facts, ...(fields.length > 0 && { fields }) }, "cloud changed");
}

function logReport(log: Logger, { outcomes, durationMs }: RunReport): void {
  const units = Object.entries(outcomes);
  for (const [unit, outcome] of units) {
    if (outcome.status === "failed") log.warn({ unit, ...outcome.failure }, "unit failed");
  }
  log.info({ units: units.length, durationMs }, "run finished");
}
