/** One turn of the loop for load balancers, certificates and routes: observe → render → guard → apply → publish. */
import type { RunReport } from "../../stacks/engine/run.ts";
import type { UnitId } from "../../stacks/units/spec.ts";
import type { Absence, Doubt } from "../apply/absence.ts";
import { proven } from "../apply/proof.ts";
import type { Runner } from "../apply/runner.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { ApprovalGate, Passed } from "../guard/approval-gate.ts";
import { type Drift, DriftWatch } from "../guard/drift.ts";
import { type Guarded, type GuardLimits, guard } from "../guard/guard.ts";
import { assess, type Plan, type PlannedUnit, type Situation, wantedSpecs } from "../guard/plan.ts";
import { objectOf } from "../guard/reason.ts";
import type { Ages } from "../hcloud/view.ts";
import { agesAfter, agesBefore, agesToConfirm } from "../observe/ages.ts";
import { observe, type Sources } from "../observe/observe.ts";
import { ImplausibleCloud } from "../observe/plausible.ts";
import { routeWrites } from "../publish/route-writes.ts";
import { serviceWritesAfter, serviceWritesBefore } from "../publish/service-writes.ts";
import { awaitingApproval, heldBack, serverNotListed } from "../publish/turn-notices.ts";
import type { Write } from "../publish/writes.ts";
import type { StatusBoard } from "../record/status-board.ts";
import { certificateUnits, looksAgain } from "../render/certificates.ts";
import type { Rendered, RenderOptions } from "../render/cluster.ts";
import { refusalsOf } from "../render/refusals.ts";
import { serviceName } from "../render/service/ownership/ours.ts";
import { Backoff } from "../work/backoff.ts";
import { TIMINGS } from "../work/timings.ts";

type Outcomes = RunReport["outcomes"];

export interface ClusterTurnParts extends Sources {
  readonly options: RenderOptions;
  readonly guardLimits: GuardLimits;
  readonly runner: Pick<Runner, "apply" | "settle" | "lastRun">;
  readonly absence: Absence;
  /** Performs writes. Returns those that failed. */
  readonly publish: (writes: readonly Write[]) => Promise<readonly Write[]>;
  /** Holds back changes that need approval; absent when none do. */
  readonly approvals?: Pick<ApprovalGate, "pass">;
  /** Receives the status after each turn. */
  readonly board?: Pick<StatusBoard, "report">;
  /** Called in every turn. */
  readonly report?: (facts: TurnFacts) => void;
  /** The interval between turns is between half of this and this. */
  readonly resyncMs: number;
  readonly log: Logger;
}

/** What a turn found, for metrics. */
export interface TurnFacts {
  /** Units that differ from their specs. */
  readonly planned: number;
  readonly drifted: readonly UnitId[];
  /** Removals held back by the guard. */
  readonly held: number;
  /** Units whose change waits for approval. */
  readonly waiting: number;
  readonly hasRoutes: boolean;
}

/** What guard and approval let pass, and what they hold back. */
interface Verdict {
  readonly guarded: Guarded;
  readonly passed: Passed;
  readonly drifted: readonly Drift[];
}

export class ClusterTurn {
  readonly #parts: ClusterTurnParts;
  readonly #backoff = new Backoff();
  readonly #drift = new DriftWatch();
  /** What the guard last held back: logged only when it changes. */
  #stopped: string | undefined;

  constructor(parts: ClusterTurnParts) {
    this.#parts = parts;
  }

  /** Returns the time until the next turn at the latest, in milliseconds; undefined when a resync is soon enough. */
  async run(): Promise<number | undefined> {
    const before = await this.#observeAndPlan();
    const verdict = await this.#decide(before);
    this.#reportFacts(before, verdict);
    const { due, unclaimed } = await this.#announce(before, verdict);

    const reported = await this.#parts.runner.apply(due, before.rendered, verdict.drifted);
    const after = due.length > 0 ? await this.#situation(agesAfter(due, this.#parts.resyncMs)) : before;
    const outcomes = proven(reported, due, after);
    this.#remember(due, verdict.guarded.plan, outcomes);

    const doubts = await this.#publish(after.rendered, outcomes);
    await this.#parts.runner.settle();
    this.#reportStatus(after.rendered, verdict);
    // An approval is valid for one run: the next turn removes it, before it could cover the same changes again.
    const usesApproval = due.length > 0 && this.#parts.approvals !== undefined;
    return soonest([
      usesApproval || this.#hasNextStage(after, outcomes) ? 0 : undefined,
      unclaimed.size > 0 ? TIMINGS.claimRetry : undefined,
      this.#backoff.nextMs,
      ...doubts.map(({ waitMs }) => waitMs),
      ...looksAgain(after.rendered),
    ]);
  }

  /** Plans from lists that may be old, and again from fresh ones if that plan depends on them. */
  async #observeAndPlan(): Promise<Situation> {
    const { observed, options, resyncMs } = this.#parts;
    const first = await this.#situation(agesBefore(observed().nodes, options, resyncMs));
    const fresher = agesToConfirm(first, resyncMs);
    return fresher ? this.#situation(fresher) : first;
  }

  async #situation(ages: Ages): Promise<Situation> {
    const { options, absence, publish } = this.#parts;
    const snapshot = await observe(this.#parts, ages).catch(async (error: unknown) => {
      if (error instanceof ImplausibleCloud) await publish(error.nodes.map(serverNotListed));
      throw error;
    });
    const situation = assess(snapshot, options);
    absence.observe(situation.rendered);
    return situation;
  }

  async #decide({ rendered, plan }: Situation): Promise<Verdict> {
    const { approvals, observed, log } = this.#parts;
    const guarded = this.#guard({ rendered, plan });
    const { stopped } = guarded;
    if (stopped && stopped !== this.#stopped) log.error({ stopped }, "removals held back by the guard");
    this.#stopped = stopped;
    const drifted = this.#drift.observe(wantedSpecs(rendered), guarded.plan);
    const objectOfStep = (step: PlannedUnit) => objectOf(step, { rendered, nodes: observed().nodes });
    const passed = (await approvals?.pass(guarded.plan, objectOfStep)) ?? { plan: guarded.plan };
    return { guarded, passed, drifted };
  }

  #guard({ rendered, plan }: Situation): Guarded {
    return guard(plan, Object.keys(rendered.existing).length, this.#parts.guardLimits);
  }

  /** Sets finalizers and writes Events about what follows. Units whose finalizer could not be set must wait. */
  async #announce({ rendered }: Situation, { guarded, passed, drifted }: Verdict) {
    const { publish, observed } = this.#parts;
    const ripe = passed.plan.filter((step) => this.#isDue(step));
    const failed = await publish([
      ...serviceWritesBefore(rendered, ripe, drifted),
      ...awaitingApproval(passed.announced ?? [], rendered, passed.pending?.id ?? ""),
      ...heldBack(guarded.stopped, observed()),
    ]);
    const unclaimed = unclaimedUnits(rendered, failed);
    return { due: ripe.filter(({ unit }) => !unclaimed.has(unit)), unclaimed };
  }

  /** Writes statuses, finalizers and conditions. A Service whose load balancer may still exist keeps its finalizer. */
  async #publish(rendered: Rendered, outcomes: Outcomes): Promise<readonly Doubt[]> {
    const { absence, publish, observed, log } = this.#parts;
    const doubts = await absence.unproven(rendered);
    for (const { intent, left } of doubts)
      if (left.length > 0) log.warn({ service: serviceName(intent.service), left }, "finalizer kept");
    const settled = without(rendered, doubts);
    await publish([...serviceWritesAfter(settled, outcomes), ...routeWrites(settled, outcomes, observed().nodes)]);
    return doubts;
  }

  #remember(due: Plan, plan: Plan, outcomes: Outcomes): void {
    for (const step of due) {
      const outcome = outcomes[step.unit];
      if (outcome?.status === "failed") this.#backoff.failed(step.unit, fingerprint(step), outcome.failure.retry);
      else this.#backoff.clear(step.unit);
      this.#parts.absence.learn(step, outcome);
    }
    this.#backoff.retain(new Set(plan.map(({ unit }) => unit)));
  }

  /** Whether the run made further steps possible, such as removing a certificate that is no longer in use. */
  #hasNextStage(after: Situation, outcomes: Outcomes): boolean {
    const follows = (step: PlannedUnit) => outcomes[step.unit]?.status !== "failed" && this.#isDue(step);
    return Object.keys(outcomes).length > 0 && this.#guard(after).plan.some(follows);
  }

  #isDue(step: PlannedUnit): boolean {
    return this.#backoff.isDue(step.unit, fingerprint(step));
  }

  #reportFacts({ rendered }: Situation, { guarded, passed, drifted }: Verdict): void {
    this.#parts.report?.({
      planned: guarded.plan.length,
      drifted: drifted.map(({ unit }) => unit),
      held: guarded.held,
      waiting: guarded.plan.length - passed.plan.length,
      hasRoutes: rendered.routes !== undefined,
    });
  }

  #reportStatus(rendered: Rendered, { guarded, passed }: Verdict): void {
    const { board, runner } = this.#parts;
    board?.report({
      ...(runner.lastRun && { lastRun: runner.lastRun }),
      refused: refusalsOf(rendered),
      ...(guarded.stopped !== undefined && { heldBack: guarded.stopped }),
      ...(passed.pending && { pending: passed.pending.id }),
    });
  }
}

/** Units of Services whose finalizer could not be set: without it a load balancer could outlive its Service unnoticed (S8). */
function unclaimedUnits({ services }: Rendered, failed: readonly Write[]): ReadonlySet<UnitId> {
  const claims = new Set(failed.flatMap((write) => (write.kind === "add-finalizer" ? [write.service] : [])));
  const unclaimed = services.filter(({ service }) => claims.has(service));
  return new Set(unclaimed.flatMap((intent) => [intent.unit, ...certificateUnits(intent)]));
}

function without(rendered: Rendered, doubts: readonly Doubt[]): Rendered {
  const held = new Set(doubts.map(({ intent }) => intent.unit));
  return { ...rendered, services: rendered.services.filter(({ unit }) => !held.has(unit)) };
}

function soonest(waits: readonly (number | undefined)[]): number | undefined {
  const known = waits.filter((wait) => wait !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** Identifies an attempt: the same differences again are the same attempt. */
function fingerprint({ kind, differences }: PlannedUnit): string {
  return JSON.stringify([kind, differences]);
}
