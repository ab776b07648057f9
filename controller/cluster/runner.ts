/** Runs of the engine: one for everything due, explained in log and record, through a gateway that is open that long. */
import type { Engine } from "../../stacks/engine.ts";
import type { RunReport, RunRequest } from "../../stacks/run.ts";
import { messageOf } from "../errors.ts";
import type { Credential, Gateway } from "../hcloud/gateway.ts";
import type { Logger } from "../log.ts";
import { changeEntries, outcomeEntries } from "../record/entry.ts";
import type { AuditRecord } from "../record/record.ts";
import type { LastRun } from "../record/status-board.ts";
import { attributionOf, newBalancers } from "./attribution.ts";
import { insertKeys, privateKeys } from "./certificates.ts";
import type { Desired } from "./desired.ts";
import type { Drift } from "./drift.ts";
import type { Plan } from "./plan.ts";
import type { ReasonContext } from "./reason.ts";
import { explainRun, RunLog } from "./run-log.ts";

export interface RunnerParts {
  readonly engine: Pick<Engine, "run" | "saveState" | "warm">;
  readonly gateway: Pick<Gateway, "open" | "reserve">;
  /** Takes in what is changed, and why. */
  readonly record?: Pick<AuditRecord, "add">;
  /** What reasons for changes are found in. */
  readonly context: (desired: Desired) => Promise<ReasonContext>;
  /** Called after every run. */
  readonly onReport?: (report: RunReport) => void;
  readonly log: Logger;
}

export class Runner {
  readonly #parts: RunnerParts;
  #lastRun: LastRun | undefined;
  #recorded = "";
  #runs = 0;
  #savedRuns = 0;
  /** The credential of the next run, which the engine is ready for. */
  #next: Credential | undefined;

  constructor(parts: RunnerParts) {
    this.#parts = parts;
  }

  /** The last run that had something to do. */
  get lastRun(): LastRun | undefined {
    return this.#lastRun;
  }

  /** One run for everything due. Nothing to do, and nothing new to record, starts nothing. */
  async apply(due: Plan, desired: Desired, drifted: readonly Drift[]): Promise<RunReport["outcomes"]> {
    const recorded = JSON.stringify(desired.nodes);
    if (due.length === 0 && recorded === this.#recorded) return {};
    const { engine, gateway, record, onReport } = this.#parts;
    const run = `${Date.now().toString(36)}-${++this.#runs}`;
    const context = await this.#parts.context(desired);
    const log = new RunLog(this.#parts.log, run, explainRun(due, drifted, context));
    const info = {
      run,
      mode: "apply",
      attribute: attributionOf(due, desired.present),
      newBalancer: newBalancers(due, desired.present),
      complete: insertKeys(privateKeys(desired)),
    } as const;
    const access = gateway.open(info, this.#next);
    this.#next = undefined;
    if (due.length > 0) record?.add(changeEntries(run, due, context, new Date()));
    try {
      const report = await engine.run(runRequest("apply", due, desired, access), (step) => log.step(step));
      onReport?.(report);
      if (allApplied(report)) this.#recorded = recorded;
      log.finished(report);
      record?.add(outcomeEntries(run, report.outcomes, new Date()));
      if (due.length > 0) this.#lastRun = lastRunOf(run, report);
      return report.outcomes;
    } finally {
      await access.close();
    }
  }

  /** What can wait until everything a user waits for is done: keeps the state, and gets ready for the next run. */
  async settle(): Promise<void> {
    await this.#saveState();
    await this.#warm();
  }

  /** Lets the engine get ready for the next run while there is nothing else to do. */
  async #warm(): Promise<void> {
    if (this.#next) return;
    this.#next = this.#parts.gateway.reserve();
    await this.#parts.engine.warm(this.#next);
  }

  /** Keeps the state of a run, after everything a user waits for. It can be rebuilt, so a failure holds nothing up. */
  async #saveState(): Promise<void> {
    if (this.#savedRuns === this.#runs) return;
    this.#savedRuns = this.#runs;
    await this.#parts.engine.saveState().catch((error: unknown) => {
      this.#parts.log.warn({ error: messageOf(error) }, "state not saved, the next run saves it");
    });
  }
}

/** A plan as the engine's request: the units it names, and what the cloud has of them and of all others. */
export function runRequest(
  mode: RunRequest["mode"],
  plan: Plan,
  desired: Desired,
  access: RunRequest["access"],
): RunRequest {
  return {
    mode,
    units: plan.flatMap((step) => (step.kind === "make" ? [step.spec] : [])),
    removals: plan.flatMap((step) => (step.kind === "remove" ? [step.unit] : [])),
    present: desired.present,
    nodes: desired.nodes,
    access: { endpoint: access.endpoint, token: access.token },
  };
}

function allApplied({ outcomes }: RunReport): boolean {
  return Object.values(outcomes).every((outcome) => outcome.status === "applied");
}

/** A run in a few words, for the status. */
function lastRunOf(run: string, { outcomes, durationMs }: RunReport): LastRun {
  const failed = Object.entries(outcomes).flatMap(([unit, outcome]) =>
    outcome.status === "failed" ? [[unit, outcome.failure.message]] : [],
  );
  const at = new Date().toISOString();
  return { run, at, units: Object.keys(outcomes).length, failed: Object.fromEntries(failed), durationMs };
}
