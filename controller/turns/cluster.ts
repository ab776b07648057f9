/** One turn of the loop for load balancers, certificates and routes: observe → render → guard → apply → publish. */
import type { RunReport, UnitOutcome } from "../../stacks/engine/run.ts";
import { defined } from "../../stacks/units/defined.ts";
import type { UnitId } from "../../stacks/units/spec.ts";
import { type Doubt, proven } from "../apply/proof.ts";
import type { Run, Runner } from "../apply/runner.ts";
import { hasFinalizer } from "../formats/finalizer.ts";
import type { ApprovalGate, Passed } from "../guard/approval.ts";
import { type Drift, DriftWatch } from "../guard/drift.ts";
import { type Guarded, guard } from "../guard/guard.ts";
import type { Pace } from "../guard/pace.ts";
import { isSameRequest, type Plan, type PlannedUnit, portionsOf, type Situation } from "../guard/plan.ts";
import { routeWrites } from "../publish/route-writes.ts";
import { serviceWritesAfter, serviceWritesBefore, unclaimedUnits } from "../publish/service-writes.ts";
import { awaitingApproval, driftWrites, heldBack } from "../publish/turn-notices.ts";
import type { StateMirror } from "../record/mirror.ts";
import type { StatusBoard } from "../record/status-board.ts";
import { looksAgain } from "../render/certificates.ts";
import type { Rendered } from "../render/cluster.ts";
import { refusalsOf } from "../render/refusals.ts";
import { serviceName } from "../render/service/ours.ts";
import { Retries } from "./retries.ts";
import { type SituationParts, Situations } from "./situations.ts";

type Outcomes = RunReport["outcomes"];

export interface ClusterTurnParts extends SituationParts {
  readonly runner: Pick<
    Runner,
    | "startTurn"
    | "apply"
    | "conclude"
    | "preview"
    | "recordApprovals"
    | "prepare"
    | "lastRun"
    | "isUnderWay"
    | "slowFailure"
  >;
  /** Slows down Services that keep changing. */
  readonly pace: Pace;
  /** Holds back changes that need approval; absent when none do. */
  readonly approvals?: Pick<ApprovalGate, "pass" | "forget">;
  /** Receives the units after each turn. */
  readonly mirror?: Pick<StateMirror, "showUnits">;
  /** Receives the status after each turn. */
  readonly board?: Pick<StatusBoard, "report">;
  /** Called in every turn. */
  readonly report?: (facts: TurnFacts) => void;
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

const NOTHING_WAITS = { waiting: 0, announced: [], approved: [] };

export class ClusterTurn {
  readonly #parts: ClusterTurnParts;
  readonly #retries: Retries;
  readonly #drift = new DriftWatch();
  /** Steps whose actions outlasted their run, with that run. */
  readonly #open = new Map<UnitId, { readonly step: PlannedUnit; readonly run: Run }>();
  readonly #situations: Situations;
  /** What the guard last held back: logged only when it changes. */
  #stopped: string | undefined;

  constructor(parts: ClusterTurnParts) {
    this.#parts = parts;
    this.#retries = new Retries(parts.pace);
    this.#situations = new Situations(parts, (step) => this.#drift.isDrift(step));
  }

  /** Returns the time until the next turn at the latest, in milliseconds; undefined when a resync is soon enough. */
  async run(): Promise<number | undefined> {
    this.#parts.runner.startTurn();
    const before = await this.#situations.before([...this.#open.values()].map(({ step }) => step));
    const arrived = this.#conclude(before);
    const verdict = await this.#decide(before);
    this.#reportFacts(before, verdict);
    const { due, unclaimed, failed } = await this.#announce(before, verdict);

    const { after, outcomes } = await this.#apply(before, due, verdict.drifted);
    this.#retries.learn(due, outcomes);
    const waiting = verdict.passed.plan.filter(({ unit }) => !unclaimed.has(unit));
    this.#retries.retain(waiting, this.#open.keys());

    const { doubts, failed: unpublished } = await this.#publish(after.rendered, { ...arrived, ...outcomes });
    this.#retries.learnWrites([...failed, ...unpublished]);
    if (due.length > 0) this.#parts.runner.prepare(); // a change seldom comes alone
    this.#parts.mirror?.showUnits(after.rendered);
    this.#reportStatus(after.rendered, verdict);
    return soonest([
      this.#hasNextStage(after, outcomes) ? 0 : undefined,
      ...this.#retries.waitsMs,
      ...doubts.map(({ waitMs }) => waitMs),
      ...looksAgain(after.rendered),
    ]);
  }

  /**
   * Concludes what was under way and has arrived. What still differs although its actions succeeded, or is now asked for in
   * place of what failed, is planned again, like any other difference.
   */
  #conclude({ plan, underWay }: Situation): Outcomes {
    const { runner } = this.#parts;
    const arrived: Record<string, UnitOutcome> = {};
    for (const [unit, { step, run }] of this.#open) {
      if (underWay?.has(unit) || runner.isUnderWay(unit)) continue;
      this.#open.delete(unit);
      const left = plan.filter((now) => now.unit === unit);
      const failure = left.length > 0 ? runner.slowFailure(unit) : undefined;
      const outcome: UnitOutcome = failure
        ? { status: "failed", changes: [], failure }
        : { status: "applied", changes: [] };
      runner.conclude({ ...run, outcomes: { [unit]: outcome } }, true);
      const isBlamed = failure !== undefined && left.some((now) => isSameRequest(now, step));
      if (left.length === 0 || isBlamed) arrived[unit] = outcome;
      if (isBlamed) this.#retries.learn(left, arrived);
      else this.#retries.clear(unit);
    }
    return arrived;
  }

  async #decide(situation: Situation): Promise<Verdict> {
    const { approvals, guardLimits, runner, log } = this.#parts;
    const { rendered } = situation;
    const guarded = guard(situation, guardLimits);
    const { stopped } = guarded;
    if (stopped && stopped !== this.#stopped) log.error({ stopped }, "removals held back by the guard");
    this.#stopped = stopped;
    const drifted = this.#drift.observe(situation, guarded.plan);
    const describe = (steps: Plan) => runner.preview(steps, rendered);
    const passed = (await approvals?.pass({ ...situation, plan: guarded.plan }, describe)) ?? {
      plan: guarded.plan,
      ...NOTHING_WAITS,
    };
    runner.recordApprovals(passed.approved);
    return { guarded, passed, drifted };
  }

  /** Sets finalizers and writes Events about what follows. Units whose finalizer could not be set must wait. */
  async #announce({ rendered }: Situation, { guarded, passed, drifted }: Verdict) {
    const { publish, observed } = this.#parts;
    const { vanished } = this.#situations;
    this.#retries.holdBack(rendered.services.filter(({ service }) => !vanished.has(service)));
    const [ripe = []] = portionsOf(passed.plan.filter((step) => this.#retries.isDue(step)));
    const failed = await publish([
      ...serviceWritesBefore(rendered, ripe, drifted),
      ...driftWrites(drifted, rendered, { nodes: observed().nodes, plan: passed.plan }),
      ...awaitingApproval(passed.announced, rendered, observed().nodes),
      ...heldBack(guarded.stopped, observed()),
    ]);
    const unclaimed = unclaimedUnits(rendered, failed);
    vanished.hold(
      rendered.services.filter(({ kind, service, unit }) =>
        kind === "balance" ? !unclaimed.has(unit) : hasFinalizer(service),
      ),
    );
    return { due: ripe.filter(({ unit }) => !unclaimed.has(unit)), unclaimed, failed };
  }

  /** Runs what is due, and corrects the engine's outcomes by what the cloud lists afterwards. */
  async #apply(before: Situation, due: Plan, drifted: readonly Drift[]) {
    const { runner, absence, approvals } = this.#parts;
    if (due.length === 0) return { after: before, outcomes: {} };
    const run = await runner.apply(due, before.rendered, drifted);
    for (const step of due) {
      if (run.outcomes[step.unit]) continue;
      this.#open.set(step.unit, { step, run });
      this.#retries.suspend(step.unit);
    }
    const after = await this.#situations
      .after(due)
      .catch((error: unknown) => {
        runner.conclude(run);
        throw error;
      })
      // From the engine's own outcomes: a creation without a response is not proven by a Service that is gone meanwhile.
      .finally(() => {
        for (const step of due) absence.learn(step, run.outcomes[step.unit]);
      });
    const outcomes = proven(run.outcomes, due, after);
    runner.conclude({ ...run, outcomes });
    this.#drift.settle(after, due);
    approvals?.forget(after);
    return { after, outcomes };
  }

  /** Writes statuses, finalizers and conditions. A Service whose load balancer may still exist keeps its finalizer. */
  async #publish(rendered: Rendered, outcomes: Outcomes) {
    const { absence, publish, observed, log } = this.#parts;
    const doubts = await absence.unproven(rendered);
    for (const { intent, left } of doubts)
      if (left.length > 0) log.warn({ service: serviceName(intent.service), left }, "finalizer kept");
    const settled = without(rendered, doubts);
    const writes = [...serviceWritesAfter(settled, outcomes), ...routeWrites(settled, outcomes, observed().nodes)];
    const failed = await publish(writes);
    this.#situations.vanished.release(writes.filter((write) => !failed.includes(write)));
    return { doubts, failed };
  }

  /** Whether the run made further steps possible, such as removing a certificate that is no longer in use. */
  #hasNextStage(after: Situation, outcomes: Outcomes): boolean {
    const follows = (step: PlannedUnit) => outcomes[step.unit]?.status !== "failed" && this.#retries.isDue(step);
    return Object.keys(outcomes).length > 0 && guard(after, this.#parts.guardLimits).plan.some(follows);
  }

  #reportFacts({ rendered }: Situation, { guarded, passed, drifted }: Verdict): void {
    this.#parts.report?.({
      planned: guarded.plan.length,
      drifted: drifted.map(({ unit }) => unit),
      held: guarded.held,
      waiting: passed.waiting,
      hasRoutes: rendered.routes !== undefined,
    });
  }

  #reportStatus(rendered: Rendered, { guarded, passed }: Verdict): void {
    const { board, runner } = this.#parts;
    board?.report({
      ...defined({ lastRun: runner.lastRun }),
      refused: refusalsOf(rendered),
      clusterCidrs: this.#parts.options.clusterCidrs,
      ...defined({ heldBack: guarded.stopped }),
      ...(passed.waiting > 0 && { waiting: passed.waiting }),
    });
  }
}

function without(rendered: Rendered, doubts: readonly Doubt[]): Rendered {
  const held = new Set(doubts.map(({ intent }) => intent.unit));
  return { ...rendered, services: rendered.services.filter(({ unit }) => !held.has(unit)) };
}

function soonest(waits: readonly (number | undefined)[]): number | undefined {
  const known = waits.filter((wait) => wait !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}
