/** One turn of the loop: observe → render → guard → apply → publish. */
import type { RunReport } from "../../stacks/engine/run.ts";
import type { UnitId } from "../../stacks/units/spec.ts";
import type { Absence, Doubt } from "../apply/absence.ts";
import { proven } from "../apply/proof.ts";
import type { Runner } from "../apply/runner.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { ApprovalGate, Passed } from "../guard/approval-gate.ts";
import { DriftWatch } from "../guard/drift.ts";
import { type Guarded, type GuardLimits, guard, heldBack } from "../guard/guard.ts";
import { type Plan, type PlannedUnit, planRun, wantedSpecs } from "../guard/plan.ts";
import { objectOf } from "../guard/reason.ts";
import type { Lookout } from "../observe/lookout.ts";
import { routeWrites } from "../publish/route-writes.ts";
import { serviceWritesAfter, serviceWritesBefore } from "../publish/service-writes.ts";
import type { Write } from "../publish/writes.ts";
import type { StatusBoard } from "../record/status-board.ts";
import { certificateUnits, looksAgain } from "../render/certificates.ts";
import type { Observed, Rendered } from "../render/cluster.ts";
import { refusalsOf } from "../render/refusals.ts";
import { serviceName } from "../render/service/ownership/ours.ts";
import { Backoff } from "../work/backoff.ts";
import { TIMINGS } from "../work/timings.ts";

export interface TurnParts {
  readonly lookout: Pick<Lookout, "before" | "after">;
  readonly runner: Pick<Runner, "apply" | "settle" | "lastRun">;
  /** The one that the lookout reports to. */
  readonly absence: Absence;
  /** Synced caches of the API server's objects. */
  readonly observed: () => Observed;
  /** Carries out writes and returns those that failed. */
  readonly publish: (writes: readonly Write[]) => Promise<readonly Write[]>;
  readonly guardLimits: GuardLimits;
  /** Holds back what needs approval; absent means that nothing does. */
  readonly approvals?: Pick<ApprovalGate, "pass">;
  /** Takes in how things stand after each turn. */
  readonly board?: Pick<StatusBoard, "report">;
  /** Told what each look at the cluster found. */
  readonly report?: (facts: TurnFacts) => void;
  readonly log: Logger;
}

/** What one look at the cluster found, in numbers. */
export interface TurnFacts {
  /** Units that are not as wanted. */
  readonly planned: number;
  /** Units that somebody changed outside. */
  readonly drifted: readonly UnitId[];
  /** Removals held back by the guard. */
  readonly held: number;
  /** Units whose change waits for approval. */
  readonly waiting: number;
  readonly hasRoutes: boolean;
}

export class ClusterTurn {
  readonly #parts: TurnParts;
  readonly #backoff = new Backoff();
  readonly #drift = new DriftWatch();
  #stopped: string | undefined;
  #held = 0;

  constructor(parts: TurnParts) {
    this.#parts = parts;
  }

  /** One turn. Returns when the next one is wanted at the latest, if some unit waits to be tried again. */
  async run(): Promise<number | undefined> {
    const { lookout, runner, publish, observed } = this.#parts;
    const before = await lookout.before();
    const { plan, stopped } = this.#guard(before);
    const drifted = this.#drift.observe(wantedSpecs(before), plan);
    const { plan: allowed, notices, pending } = await this.#approve(plan, before);
    this.#parts.report?.({
      planned: plan.length,
      drifted: drifted.map(({ unit }) => unit),
      held: this.#held,
      waiting: plan.length - allowed.length,
      hasRoutes: before.routes !== undefined,
    });
    const ripe = allowed.filter((step) => this.#backoff.isDue(step.unit, fingerprint(step)));
    const told = [...serviceWritesBefore(before, ripe, drifted), ...notices, ...heldBack(stopped, observed())];
    const unclaimed = unitsOfClaims(before, await publish(told));
    const due = ripe.filter(({ unit }) => !unclaimed.has(unit));

    const reported = await runner.apply(due, before, drifted);
    const after = due.length === 0 ? before : await lookout.after(due);
    const outcomes = proven(reported, due, after);
    this.#learn(due, plan, outcomes);
    const doubts = await this.#unproven(after);
    const settled = without(after, doubts);
    await publish([...serviceWritesAfter(settled, outcomes), ...routeWrites(settled, outcomes, observed().nodes)]);
    await runner.settle();
    this.#report(after, pending?.id);
    // What was approved is done: the next turn takes the approval down, before the same could happen unasked.
    const settles = due.length > 0 && this.#parts.approvals !== undefined;
    const atOnceMs = settles || this.#hasNextStage(after, outcomes) ? 0 : undefined;
    const claimMs = unclaimed.size > 0 ? TIMINGS.claimRetry : undefined;
    const againMs = [...doubts.map(({ waitMs }) => waitMs), ...looksAgain(after)];
    return soonest([atOnceMs, claimMs, this.#backoff.nextMs, ...againMs]);
  }

  /** Whether a run made another step possible, such as removing what is no longer used: it is taken at once. */
  #hasNextStage(after: Rendered, outcomes: RunReport["outcomes"]): boolean {
    const follows = (step: PlannedUnit) =>
      outcomes[step.unit]?.status !== "failed" && this.#backoff.isDue(step.unit, fingerprint(step));
    return Object.keys(outcomes).length > 0 && this.#guard(after).plan.some(follows);
  }

  #guard(rendered: Rendered): Guarded {
    const guarded = guard(planRun(rendered), Object.keys(rendered.existing).length, this.#parts.guardLimits);
    const { stopped, held } = guarded;
    if (stopped && stopped !== this.#stopped) this.#parts.log.error({ stopped }, "removals held back by the guard");
    this.#stopped = stopped;
    this.#held = held;
    return guarded;
  }

  async #approve(plan: Plan, rendered: Rendered): Promise<Passed> {
    const { approvals, observed } = this.#parts;
    const objectOfStep = (step: PlannedUnit) => objectOf(step, { rendered, nodes: observed().nodes });
    return (await approvals?.pass(plan, rendered, objectOfStep)) ?? { plan, notices: [] };
  }

  async #unproven(rendered: Rendered): Promise<readonly Doubt[]> {
    const { absence, log } = this.#parts;
    const doubts = await absence.unproven(rendered);
    for (const { intent, left } of doubts)
      if (left.length > 0) log.warn({ service: serviceName(intent.service), left }, "service not released yet");
    return doubts;
  }

  #report(rendered: Rendered, pending: string | undefined): void {
    const { board, runner } = this.#parts;
    const { lastRun } = runner;
    board?.report({
      ...(lastRun && { lastRun }),
      refused: refusalsOf(rendered),
      ...(this.#stopped !== undefined && { heldBack: this.#stopped }),
      ...(pending !== undefined && { pending }),
    });
  }

  #learn(due: Plan, plan: Plan, outcomes: RunReport["outcomes"]): void {
    for (const step of due) {
      const outcome = outcomes[step.unit];
      if (outcome?.status === "failed") this.#backoff.failed(step.unit, fingerprint(step), outcome.failure.retry);
      else this.#backoff.clear(step.unit);
      this.#parts.absence.learn(step, outcome);
    }
    this.#backoff.retain(new Set(plan.map(({ unit }) => unit)));
  }
}

/** Units of Services whose finalizer could not be set: without it a balancer could outlive its Service unnoticed (S8). */
function unitsOfClaims({ services }: Rendered, failed: readonly Write[]): ReadonlySet<UnitId> {
  const claims = new Set(failed.flatMap((write) => (write.kind === "add-finalizer" ? [write.service] : [])));
  const unclaimed = services.filter(({ service }) => claims.has(service));
  return new Set(unclaimed.flatMap((intent) => [intent.unit, ...certificateUnits(intent)]));
}

/** The same without Services of which something may still be there: they are not let go yet. */
function without(rendered: Rendered, doubts: readonly Doubt[]): Rendered {
  const held = new Set(doubts.map(({ intent }) => intent.unit));
  return { ...rendered, services: rendered.services.filter(({ unit }) => !held.has(unit)) };
}

function soonest(waits: readonly (number | undefined)[]): number | undefined {
  const known = waits.filter((wait) => wait !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** What is tried: the same differences again are the same attempt. */
function fingerprint({ kind, differences }: PlannedUnit): string {
  return JSON.stringify([kind, differences]);
}
