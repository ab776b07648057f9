/** One turn of the loop: observe → render → guard → apply → publish. */
import type { V1Node, V1Service } from "@kubernetes/client-node";
import type { Engine } from "../../stacks/engine.ts";
import type { RunReport } from "../../stacks/run.ts";
import type { UnitId } from "../../stacks/spec.ts";
import { insertKeys } from "../certificate/private-keys.ts";
import type { SecretList } from "../certificate/tls-secret.ts";
import { messageOf } from "../errors.ts";
import type { Credential, Gateway } from "../hcloud/gateway.ts";
import type { Ages, CloudState, CloudView } from "../hcloud/view.ts";
import type { Logger } from "../log.ts";
import { changeEntries, outcomeEntries } from "../record/entry.ts";
import type { AuditRecord } from "../record/record.ts";
import type { LastRun, StatusBoard } from "../record/status-board.ts";
import { Backoff } from "../work/backoff.ts";
import { Absence } from "./absence.ts";
import { agesAfter, firstLook, freshLook } from "./ages.ts";
import type { ApprovalGate, Passed } from "./approval-gate.ts";
import { attributionOf, newBalancers } from "./attribution.ts";
import { certificateUnits, isUncertain, looksAgain, privateKeys } from "./certificates.ts";
import { type Desired, type RenderOptions, renderCluster } from "./desired.ts";
import { type Drift, DriftWatch } from "./drift.ts";
import { type Guarded, type GuardLimits, guard, heldBack } from "./guard.ts";
import { type Plan, type PlannedUnit, planRun, wantedSpecs } from "./plan.ts";
import { contradiction, ImplausibleCloud, requirePlausible } from "./plausible.ts";
import { proven } from "./proof.ts";
import { objectOf, type ReasonContext } from "./reason.ts";
import { refusalsOf } from "./refusals.ts";
import { explainRun, RunLog } from "./run-log.ts";
import { allApplied, lastRunOf } from "./run-report.ts";
import { runRequest } from "./run-request.ts";
import { type Write, writesAfter, writesBefore } from "./writes.ts";

/** What the API server shows. */
export interface Observed {
  readonly services: readonly V1Service[];
  readonly nodes: readonly V1Node[];
  /** TLS Secrets, where they are ours to read. */
  readonly secrets?: readonly SecretList[];
}

export interface TurnParts {
  /** Synced caches of the API server's objects. */
  readonly observed: () => Observed;
  readonly view: CloudView;
  readonly engine: Pick<Engine, "run" | "saveState" | "warm">;
  readonly gateway: Pick<Gateway, "open" | "reserve">;
  /** Carries out writes and returns those that failed. */
  readonly publish: (writes: readonly Write[]) => Promise<readonly Write[]>;
  readonly options: RenderOptions;
  readonly guardLimits: GuardLimits;
  /** A turn comes round by itself after half of this or later. */
  readonly resyncMs: number;
  /** Holds back what needs approval; absent means that nothing does. */
  readonly approvals?: Pick<ApprovalGate, "pass">;
  /** Takes in what is changed, and why. */
  readonly record?: Pick<AuditRecord, "add">;
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
  readonly hasRoutes: boolean;
}

/** A Service whose finalizer could not be set is tried again this soon. */
const CLAIM_RETRY_MS = 1_000;

export class ClusterTurn {
  readonly #parts: TurnParts;
  readonly #firstLook: Ages;
  readonly #backoff = new Backoff();
  readonly #drift = new DriftWatch();
  readonly #absence = new Absence();
  #stopped: string | undefined;
  #lastRun: LastRun | undefined;
  #held = 0;
  #recorded = "";
  #runs = 0;
  #savedRuns = 0;
  /** The credential of the next run, which the engine is ready for. */
  #next: Credential | undefined;

  constructor(parts: TurnParts) {
    this.#parts = parts;
    this.#firstLook = firstLook(parts.resyncMs);
  }

  /** One turn. Returns when the next one is wanted at the latest, if some unit waits to be tried again. */
  async run(): Promise<number | undefined> {
    const { publish, observed } = this.#parts;
    const before = await this.#observeFresh();
    const { plan, stopped } = this.#guard(before);
    const drifted = this.#drift.observe(wantedSpecs(before), plan);
    this.#measure(plan, drifted, before);
    const { plan: allowed, notices, pending } = await this.#approve(plan, before);
    const ripe = allowed.filter((step) => this.#backoff.isDue(step.unit, fingerprint(step)));
    const told = [...writesBefore(before, ripe, drifted), ...notices, ...heldBack(stopped, observed())];
    const unclaimed = unitsOfClaims(before, await publish(told));
    const due = ripe.filter(({ unit }) => !unclaimed.has(unit));

    const reported = await this.#apply(due, before, drifted);
    const after = due.length === 0 ? before : await this.#observe(agesAfter(due, this.#firstLook));
    const outcomes = proven(reported, due, after);
    this.#learn(due, plan, outcomes);
    const unproven = this.#absence.unproven(after);
    await publish(writesAfter(without(after, unproven), outcomes, observed().nodes));
    await this.#saveState();
    await this.#warm();
    this.#report(after, pending?.id);
    // What was approved is done: the next turn takes the approval down, before the same could happen unasked.
    const settles = due.length > 0 && this.#parts.approvals !== undefined;
    const atOnceMs = settles || this.#hasNextStage(after, outcomes) ? 0 : undefined;
    const claimMs = unclaimed.size > 0 ? CLAIM_RETRY_MS : undefined;
    return soonest([atOnceMs, claimMs, this.#backoff.nextMs, ...unproven.values(), ...looksAgain(after)]);
  }

  /** Whether a run made another step possible, such as removing what is no longer used: it is taken at once. */
  #hasNextStage(after: Desired, outcomes: RunReport["outcomes"]): boolean {
    const follows = (step: PlannedUnit) =>
      outcomes[step.unit]?.status !== "failed" && this.#backoff.isDue(step.unit, fingerprint(step));
    return Object.keys(outcomes).length > 0 && this.#guard(after).plan.some(follows);
  }

  #guard(desired: Desired): Guarded {
    const guarded = guard(planRun(desired), Object.keys(desired.present).length, this.#parts.guardLimits);
    const { stopped, held } = guarded;
    if (stopped && stopped !== this.#stopped) this.#parts.log.error({ stopped }, "removals held back by the guard");
    this.#stopped = stopped;
    this.#held = held;
    return guarded;
  }

  #measure(plan: Plan, drifted: readonly Drift[], { routes }: Desired): void {
    const units = drifted.map(({ unit }) => unit);
    this.#parts.report?.({ planned: plan.length, drifted: units, held: this.#held, hasRoutes: routes !== undefined });
  }

  async #approve(plan: Plan, desired: Desired): Promise<Passed> {
    const { approvals, observed } = this.#parts;
    const objectOfStep = (step: PlannedUnit) => objectOf(step, { desired, nodes: observed().nodes });
    return (await approvals?.pass(plan, desired, objectOfStep)) ?? { plan, notices: [] };
  }

  /** What is wanted, from a first look, and from a fresh one at whatever that look would change. */
  async #observeFresh(): Promise<Desired> {
    const first = await this.#observe(this.#firstLook);
    const missesServer = first.services.some((wish) => wish.kind === "balance" && wish.leftOut.length > 0);
    const changesRoutes = planRun(first).some(({ unit }) => unit.startsWith("route/"));
    const asks = {
      servers: missesServer || changesRoutes || (first.routes?.refused.some(({ isFinal }) => !isFinal) ?? false),
      certificates: isUncertain(first),
      network: changesRoutes,
    };
    return asks.servers || asks.certificates ? this.#observe(freshLook(this.#firstLook, asks)) : first;
  }

  async #observe(ages: Ages): Promise<Desired> {
    const cloud = await this.#observeCloud(ages);
    const desired = renderCluster({ ...this.#parts.observed(), cloud, now: Date.now() }, this.#parts.options);
    this.#absence.observe(desired);
    return desired;
  }

  /** A list that contradicts the nodes may only be old: it is asked for again before it is not believed. */
  async #observeCloud(ages: Ages): Promise<CloudState> {
    const { view, observed, publish } = this.#parts;
    const look = async (wanted: Ages) => {
      const cloud = await view.state(wanted);
      requirePlausible(cloud, observed().nodes);
      return cloud;
    };
    try {
      return await look(ages).catch(() => look({ ...ages, servers: 0 }));
    } catch (error) {
      if (error instanceof ImplausibleCloud) await publish(error.nodes.map(contradiction));
      throw error;
    }
  }

  /** One run for everything due. Nothing to do, and nothing new to record, starts nothing. */
  async #apply(due: Plan, desired: Desired, drifted: readonly Drift[]): Promise<RunReport["outcomes"]> {
    const recorded = JSON.stringify(desired.nodes);
    if (due.length === 0 && recorded === this.#recorded) return {};
    const { engine, gateway, record } = this.#parts;
    const run = `${Date.now().toString(36)}-${++this.#runs}`;
    const context = await this.#context(desired);
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
      if (allApplied(report)) this.#recorded = recorded;
      log.finished(report);
      record?.add(outcomeEntries(run, report.outcomes, new Date()));
      if (due.length > 0) this.#lastRun = lastRunOf(run, report);
      return report.outcomes;
    } finally {
      await access.close();
    }
  }

  #report(desired: Desired, pending: string | undefined): void {
    this.#parts.board?.report({
      ...(this.#lastRun && { lastRun: this.#lastRun }),
      refused: refusalsOf(desired),
      ...(this.#stopped !== undefined && { heldBack: this.#stopped }),
      ...(pending !== undefined && { pending }),
    });
  }

  /** What reasons for changes are found in. */
  async #context(desired: Desired): Promise<ReasonContext> {
    const { observed, view, options } = this.#parts;
    const servers = await view.servers(this.#firstLook.servers * 2);
    return { desired, nodes: observed().nodes, servers, defaults: options.defaults };
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

  #learn(due: Plan, plan: Plan, outcomes: RunReport["outcomes"]): void {
    for (const step of due) {
      const outcome = outcomes[step.unit];
      if (outcome?.status === "failed") this.#backoff.failed(step.unit, fingerprint(step), outcome.failure.retry);
      else this.#backoff.clear(step.unit);
      if (step.kind === "make") this.#absence.learn(step.unit, outcome);
    }
    this.#backoff.retain(new Set(plan.map(({ unit }) => unit)));
  }
}

/** Units of Services whose finalizer could not be set: without it a balancer could outlive its Service unnoticed (S8). */
function unitsOfClaims({ services }: Desired, failed: readonly Write[]): ReadonlySet<UnitId> {
  const claims = new Set(failed.flatMap((write) => (write.kind === "claim" ? [write.service] : [])));
  const unclaimed = services.filter(({ service }) => claims.has(service));
  return new Set(unclaimed.flatMap((wish) => [wish.unit, ...certificateUnits(wish)]));
}

/** The same without Services whose balancers may still be on their way: they are not let go yet. */
function without(desired: Desired, units: ReadonlyMap<UnitId, number>): Desired {
  return { ...desired, services: desired.services.filter(({ unit }) => !units.has(unit)) };
}

function soonest(waits: readonly (number | undefined)[]): number | undefined {
  const known = waits.filter((wait) => wait !== undefined);
  return known.length > 0 ? Math.min(...known) : undefined;
}

/** What is tried: the same differences again are the same attempt. */
function fingerprint({ kind, differences }: PlannedUnit): string {
  return JSON.stringify([kind, differences]);
}
