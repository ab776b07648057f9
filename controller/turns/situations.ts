/** Observes and plans for a turn: observe → render → compare, with a second witness wherever a list alone is not proof. */
import type { UnitId } from "../../stacks/units/spec.ts";
import type { Absence } from "../apply/proof.ts";
import type { Runner } from "../apply/runner.ts";
import { CloudError } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { doubtfulServers, type GuardLimits, holdTargets } from "../guard/guard.ts";
import { assessInSteps, type Plan, type PlannedUnit, type Situation, setAside } from "../guard/plan.ts";
import type { Server } from "../hcloud/api.ts";
import type { Gateway } from "../hcloud/gateway.ts";
import { type Ages, INVALID } from "../hcloud/reader.ts";
import type { Patcher } from "../kube/write.ts";
import { agesAfter, agesBefore, agesToConfirm, ImplausibleCloud, observe, type Sources } from "../observe/observe.ts";
import { Vanished } from "../observe/vanished.ts";
import { serverNotListed } from "../publish/turn-notices.ts";
import type { Write } from "../publish/writes.ts";
import type { RenderOptions } from "../render/cluster.ts";
import { inParallel } from "../work/parallel.ts";
import { inSlices } from "../work/steps.ts";

/** Concurrent reads of single servers. */
const PARALLEL = 8;

export interface SituationParts extends Sources {
  readonly options: RenderOptions;
  readonly guardLimits: GuardLimits;
  readonly absence: Absence;
  readonly runner: Pick<Runner, "isUnderWay">;
  readonly gateway: Pick<Gateway, "sinceWriteMs">;
  readonly patcher: Pick<Patcher, "readService">;
  /** Performs writes. Returns those that failed. */
  readonly publish: (writes: readonly Write[]) => Promise<readonly Write[]>;
  /** The interval between turns is between half of this and this. */
  readonly resyncMs: number;
  readonly log: Logger;
}

export class Situations {
  /** Services that vanished although their finalizer was set. */
  readonly vanished: Vanished;
  readonly #parts: SituationParts;
  readonly #isDrift: (step: PlannedUnit) => boolean;
  /** Servers that this turn has read directly, as a second witness before a list removes what belongs to a Ready Node. */
  readonly #witnesses = new Map<number, Server | undefined>();
  /** Units with actions that had not ended when this turn began to read: its lists need not show how they end. */
  #underWay: ReadonlySet<UnitId> = new Set();

  constructor(parts: SituationParts, isDrift: (step: PlannedUnit) => boolean) {
    this.#parts = parts;
    this.#isDrift = isDrift;
    const readService = parts.patcher.readService.bind(parts.patcher);
    this.vanished = new Vanished({ readService, limits: parts.guardLimits, log: parts.log });
  }

  /**
   * For the start of a turn: plans from lists that may be old, and again from fresh ones if that plan depends on them. `open`
   * are steps that outlasted their run.
   */
  async before(open: Plan): Promise<Situation> {
    const { observed, options, resyncMs, runner, gateway } = this.#parts;
    await this.vanished.look(observed());
    this.#witnesses.clear();
    this.#underWay = new Set(open.map(({ unit }) => unit).filter((unit) => runner.isUnderWay(unit)));
    const arrived = open.filter(({ unit }) => !this.#underWay.has(unit));
    const first = await this.#assess(agesBefore(observed().nodes, options, resyncMs, arrived));
    const fresher = agesToConfirm(first, resyncMs, this.#isDrift);
    let planned = fresher ? await this.#assess(fresher) : first;
    while (await this.#readDoubtful(planned)) planned = await this.#assess(agesAfter([], resyncMs, gateway));
    return planned;
  }

  /** Reads the servers that the plan is in doubt about, each once. Returns whether there were any: then plan again. */
  async #readDoubtful(planned: Situation): Promise<boolean> {
    const { view, observed } = this.#parts;
    const ids = doubtfulServers(planned, observed().nodes).filter((id) => !this.#witnesses.has(id));
    await inParallel(ids, PARALLEL, async (id) => {
      const server = await view.server(id).catch((error: unknown) => {
        // A server that cannot be understood cannot be a target, and is no reason to stop serving the others.
        if (error instanceof CloudError && error.apiCode === INVALID) return undefined;
        throw error;
      });
      this.#witnesses.set(id, server);
    });
    return ids.length > 0;
  }

  /** After a run: reads what it touched. */
  after(due: Plan): Promise<Situation> {
    return this.#assess(agesAfter(due, this.#parts.resyncMs, this.#parts.gateway));
  }

  async #assess(ages: Ages): Promise<Situation> {
    const { options, guardLimits, absence, publish, runner, view, log } = this.#parts;
    const observed = () => this.vanished.complete(this.#parts.observed());
    const snapshot = await observe({ view, observed }, ages, this.#witnesses).catch(async (error: unknown) => {
      if (error instanceof ImplausibleCloud) await publish(error.nodes.map(serverNotListed));
      throw error;
    });
    const assessed = await inSlices(assessInSteps(snapshot, options));
    const careful = holdTargets(assessed, snapshot.nodes, guardLimits);
    const unlisted = await absence.unlisted(careful);
    for (const [unit, left] of unlisted) log.warn({ unit, left }, "not recreated");
    const isUnderWay = (unit: UnitId) => this.#underWay.has(unit) || runner.isUnderWay(unit);
    const situation = setAside(careful, (unit) => isUnderWay(unit) || unlisted.has(unit));
    absence.observe(situation.rendered);
    return situation;
  }
}
