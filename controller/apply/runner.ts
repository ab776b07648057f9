/** Runs the engine for all due steps, with the gateway open for that time, and logs and records every change with its reason. */
import type { Engine } from "../../stacks/engine/engine.ts";
import { failureOf } from "../../stacks/engine/errors.ts";
import { failuresIn } from "../../stacks/engine/progress.ts";
import type { Failure, RunReport, Step, UnitOutcome } from "../../stacks/engine/run.ts";
import { existence } from "../../stacks/units/difference.ts";
import type { UnitId } from "../../stacks/units/spec.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { Approval, Description } from "../guard/approval.ts";
import type { Drift } from "../guard/drift.ts";
import type { Plan, PlannedUnit } from "../guard/plan.ts";
import type { ApiError } from "../hcloud/exchange.ts";
import type { Gateway } from "../hcloud/gateway.ts";
import type { Prices } from "../hcloud/prices.ts";
import type { CloudView } from "../hcloud/reader.ts";
import type { Exchange } from "../hcloud/sender.ts";
import type { Credential } from "../hcloud/session.ts";
import { changeEntries, DRIFT, outcomeEntries } from "../record/entry.ts";
import { objectOf, type ReasonContext, reasonFor } from "../record/reason.ts";
import type { AuditRecord } from "../record/record.ts";
import type { LastRun } from "../record/status-board.ts";
import { insertKeys, privateKeys } from "../render/certificates.ts";
import type { Rendered } from "../render/cluster.ts";
import { describePlan, previewTwice } from "./preview.ts";
import { runRequest } from "./request.ts";
import { scopeOf } from "./scope.ts";

export interface RunnerParts {
  readonly engine: Pick<Engine, "run" | "prepare">;
  readonly gateway: Pick<Gateway, "open" | "reserve">;
  /** Lists that serve the plugin's reads. */
  readonly view?: Pick<CloudView, "list">;
  /** Receives changes with their reasons, and outcomes. */
  readonly record?: Pick<AuditRecord, "add">;
  /** Where reasons for changes are looked up. */
  readonly context: (rendered: Rendered) => Promise<ReasonContext>;
  /** Prices of the provider, if they are known. */
  readonly prices?: () => Promise<Prices>;
  /** Called when an action has ended that outlasted its run. */
  readonly onArrival?: () => void;
  /** Called after every run, and again when actions have ended that outlasted it (`isLate`), with their units only. */
  readonly onReport?: (report: RunReport, isLate: boolean) => void;
  readonly log: Logger;
}

type Outcomes = RunReport["outcomes"];

/** A run and what came of it. */
export interface Run extends RunReport {
  readonly id: string;
}

export class Runner {
  readonly #parts: RunnerParts;
  #lastRun: LastRun | undefined;
  #runs = 0;
  /** The credential of the next run, for which the engine is prepared. */
  #next: Credential | undefined;
  /** Fires when others wait for the run of the current turn. */
  #hurry = new AbortController();
  /** Actions that outlast their run, by unit. */
  readonly #slow = new Map<string, number>();
  /** Why such actions failed, by unit. */
  readonly #slowFailures = new Map<string, Failure>();

  constructor(parts: RunnerParts) {
    this.#parts = parts;
  }

  /** The last run that changed units. */
  get lastRun(): LastRun | undefined {
    return this.#lastRun;
  }

  /** Whether a unit has slow actions that outlast their run. Nothing may be planned for it until they have ended. */
  isUnderWay(unit: UnitId): boolean {
    return this.#slow.has(unit);
  }

  /** Why an action failed that outlasted the last run of a unit; undefined if none did. */
  slowFailure(unit: UnitId): Failure | undefined {
    return this.#slowFailures.get(unit);
  }

  /** A turn observes from now on. Changes that arrive later wait for its run. */
  startTurn(): void {
    this.#hurry = new AbortController();
  }

  /** Says that others wait: the run of this turn does not wait for slow actions. */
  hurry(): void {
    this.#hurry.abort();
  }

  /** One run for all due steps. Failures are those that the API reported, where it did. A unit under way has no outcome. */
  async apply(due: Plan, rendered: Rendered, drifted: readonly Drift[]): Promise<Run> {
    const { engine, gateway, record, view, onArrival } = this.#parts;
    const id = `${Date.now().toString(36)}-${++this.#runs}`;
    const context = await this.#parts.context(rendered);
    const log = this.#parts.log.child({ run: id });
    const drift = new Set(drifted.map(({ unit }) => unit));
    const why = explainRun(due, drift, context);
    const errors = new Map<string, ApiError>();
    // An action may also end before the run that no longer waits for it.
    const slow = new Set<string>();
    if (due.length > 1) this.#hurry.abort(); // the units of a run wait for each other
    const info = {
      run: id,
      mode: "apply",
      ...scopeOf(due, rendered.existing),
      complete: insertKeys(privateKeys(rendered)),
      ...(view && { list: (collection: string, maxAgeMs: number) => view.list(collection, maxAgeMs) }),
      onExchange: (exchange: Exchange) => noteError(errors, exchange),
      // Without a listener for the end of slow actions, the run waits for them.
      ...(onArrival && {
        hurry: this.#hurry.signal,
        onSlow: (unit: string, ended: Promise<ApiError | undefined>) => {
          slow.add(unit);
          this.#follow(unit, ended);
        },
      }),
    } as const;
    const access = gateway.open(info, this.#next);
    this.#next = undefined;
    for (const { unit } of due) this.#slowFailures.delete(unit);
    record?.add(changeEntries({ run: id, at: new Date(), drift }, due, context));
    try {
      const report = await engine.run(runRequest("apply", due, rendered, access), (step) =>
        logStep(log, step, { ...why.get(step.unit), isSlow: slow.has(step.unit) }),
      );
      const ended = Object.entries(withApiErrors(report.outcomes, errors)).filter(([unit]) => !slow.has(unit));
      return { id, ...report, outcomes: Object.fromEntries(ended) };
    } finally {
      await access.close();
    }
  }

  /** Reports how a run ended, once its outcomes are proven, or later what came of units that outlasted it. */
  conclude(run: Run, isLate = false): void {
    const { record, onReport, log } = this.#parts;
    onReport?.(run, isLate);
    logReport(log.child({ run: run.id }), run);
    record?.add(outcomeEntries(run.id, run.outcomes, new Date()));
    this.#lastRun = lastRunOf(run);
  }

  /** What the engine would do, with reasons and prices, for people to approve. Makes no changes. */
  async preview(plan: Plan, rendered: Rendered): Promise<readonly Description[]> {
    const { context, prices } = this.#parts;
    const outcomes = await previewTwice(this.#parts, plan, rendered);
    const known = await prices?.().catch(() => undefined); // a forecast without prices is better than none
    return describePlan(plan, { context: await context(rendered), outcomes, ...(known && { prices: known }) });
  }

  /** Adds approvals to the record, with who gave them. */
  recordApprovals(approvals: readonly Approval[]): void {
    const now = new Date();
    const common = { at: now.toISOString(), run: `approval-${now.getTime().toString(36)}` };
    for (const { step, by } of approvals) this.#parts.log.info({ object: step.object, by }, "change approved");
    this.#parts.record?.add(
      approvals.map(({ step: { unit, object }, by }) => ({ kind: "approval", ...common, unit, object, by })),
    );
  }

  #follow(unit: string, ended: Promise<ApiError | undefined>): void {
    this.#slow.set(unit, (this.#slow.get(unit) ?? 0) + 1);
    const arrive = (error?: ApiError) => {
      if (error) this.#slowFailures.set(unit, failureOf(error.code, error.message));
      const left = (this.#slow.get(unit) ?? 1) - 1;
      if (left > 0) this.#slow.set(unit, left);
      else this.#slow.delete(unit);
      this.#parts.onArrival?.();
    };
    ended.then(arrive, () => arrive());
  }

  /** Prepares the engine for a run that is likely to follow. */
  prepare(): void {
    const { engine, gateway } = this.#parts;
    this.#next ??= gateway.reserve();
    engine.prepare(this.#next);
  }
}

/** Keeps the API's last error about each unit, unless something else must be the reason if the unit fails. */
function noteError(errors: Map<string, ApiError>, { unit, method, status, error }: Exchange): void {
  // A failed read is not the cause: the plugin retries it, or takes it for an absent resource.
  if (unit === undefined || method === "GET") return;
  const code = errors.get(unit)?.code;
  if (error) errors.set(unit, error);
  // An earlier refusal does not explain that there was no response, nor a temporary one what follows once it is overcome.
  else if (status === 0 || (code !== undefined && failureOf(code, "").retry === "soon")) errors.delete(unit);
}

/** Failed units with the API's own error instead of the engine's text about it. */
function withApiErrors(outcomes: Outcomes, errors: ReadonlyMap<string, ApiError>): Outcomes {
  const explained = Object.entries(outcomes).map(([unit, outcome]): [string, UnitOutcome] => {
    const error = errors.get(unit);
    if (outcome.status === "applied" || !error || OWN_FAILURES.has(outcome.failure.code)) return [unit, outcome];
    return [unit, { ...outcome, failure: failureOf(error.code, error.message) }];
  });
  return Object.fromEntries(explained);
}

/** Failures that an error of the API does not explain. */
const OWN_FAILURES = new Set(["deadline", "worker-died"]);

/** A summary for the status. */
function lastRunOf({ id: run, outcomes, durationMs }: Run): LastRun {
  const failed = failuresIn(outcomes).map(([unit, { message }]) => [unit, message]);
  const at = new Date().toISOString();
  return { run, at, units: Object.keys(outcomes).length, failed: Object.fromEntries(failed), durationMs };
}

/** The object that a unit is for, and the reason for its change. */
interface Why {
  readonly object: string;
  readonly reason: string;
}

/** The reason for each step, taken from its first difference. The reason for a new unit is that it should exist. */
function explainRun(due: Plan, drift: ReadonlySet<UnitId>, context: ReasonContext): ReadonlyMap<UnitId, Why> {
  const reasonOf = (step: PlannedUnit) => {
    if (drift.has(step.unit)) return DRIFT;
    const isNew = context.rendered.existing[step.unit] === undefined;
    const [first] = isNew ? [existence(step.unit)] : step.differences;
    return first ? reasonFor(step, first, context) : "";
  };
  return new Map(due.map((step) => [step.unit, { object: objectOf(step, context), reason: reasonOf(step) }]));
}

/** One line for each change in the cloud, with the object it is for and the reason. */
function logStep(
  log: Logger,
  { unit, part, operation, fields, phase }: Step,
  { isSlow, ...why }: Partial<Why> & { readonly isSlow: boolean },
): void {
  const facts = { ...why, unit, part, operation };
  if (phase === "started") log.debug(facts, "change started");
  else if (phase === "failed" && isSlow) log.info(facts, "change under way, its action outlasts the run");
  else if (phase === "failed") log.warn(facts, "change failed");
  else log.info({ ...facts, ...(fields.length > 0 && { fields }) }, "cloud changed");
}

function logReport(log: Logger, { outcomes, durationMs }: RunReport): void {
  for (const [unit, failure] of failuresIn(outcomes)) log.warn({ unit, ...failure }, "unit failed");
  log.info({ units: Object.keys(outcomes).length, durationMs }, "run finished");
}
