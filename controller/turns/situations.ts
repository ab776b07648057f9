/** Observes and plans for a turn: observe → render → compare, with a second witness wherever a list alone is not proof. */
import type { Absence } from "../apply/proof.ts";
import type { Runner } from "../apply/runner.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { GuardLimits } from "../guard/guard.ts";
import { holdTargets } from "../guard/guard.ts";
import { assessInSteps, type Plan, type PlannedUnit, type Situation, setAside } from "../guard/plan.ts";
import type { Ages, CloudView } from "../hcloud/reader.ts";
import type { Patcher } from "../kube/write.ts";
import { agesAfter, agesBefore, agesToConfirm, ImplausibleCloud, observe, type Sources } from "../observe/observe.ts";
import { ServerWitnesses } from "../observe/server-witnesses.ts";
import { Vanished } from "../observe/vanished.ts";
import { serverNotListed } from "../publish/turn-notices.ts";
import type { Write } from "../publish/writes.ts";
import type { RenderOptions } from "../render/cluster.ts";
import { inSlices } from "../work/steps.ts";

export interface SituationParts extends Sources {
  readonly view: Pick<CloudView, "state" | "server">;
  readonly options: RenderOptions;
  readonly guardLimits: GuardLimits;
  readonly absence: Absence;
  readonly runner: Pick<Runner, "isUnderWay">;
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
  readonly #witnesses: ServerWitnesses;

  constructor(parts: SituationParts, isDrift: (step: PlannedUnit) => boolean) {
    this.#parts = parts;
    this.#isDrift = isDrift;
    this.#witnesses = new ServerWitnesses(parts.view);
    const readService = parts.patcher.readService.bind(parts.patcher);
    this.vanished = new Vanished({ readService, limits: parts.guardLimits, log: parts.log });
  }

  /**
   * For the start of a turn: plans from lists that may be old, and again from fresh ones if that plan depends on them. `open`
   * are steps that outlasted their run.
   */
  async before(open: Plan): Promise<Situation> {
    const { observed, options, resyncMs, runner } = this.#parts;
    await this.vanished.look(observed());
    this.#witnesses.forget();
    const arrived = open.filter(({ unit }) => !runner.isUnderWay(unit));
    const first = await this.#assess(agesBefore(observed().nodes, options, resyncMs, arrived));
    const fresher = agesToConfirm(first, resyncMs, this.#isDrift);
    let planned = fresher ? await this.#assess(fresher) : first;
    while (await this.#witnesses.readDoubtful(planned, observed().nodes))
      planned = await this.#assess(agesAfter([], resyncMs));
    return planned;
  }

  /** After a run: reads what it touched. */
  after(due: Plan): Promise<Situation> {
    return this.#assess(agesAfter(due, this.#parts.resyncMs));
  }

  async #assess(ages: Ages): Promise<Situation> {
    const { options, guardLimits, absence, publish, runner, view } = this.#parts;
    const observed = () => this.vanished.complete(this.#parts.observed());
    const snapshot = await observe({ view, observed }, ages, this.#witnesses.read).catch(async (error: unknown) => {
      if (error instanceof ImplausibleCloud) await publish(error.nodes.map(serverNotListed));
      throw error;
    });
    const assessed = await inSlices(assessInSteps(snapshot, options));
    const careful = holdTargets(assessed, snapshot.nodes, guardLimits);
    const situation = setAside(careful, (unit) => runner.isUnderWay(unit));
    absence.observe(situation.rendered);
    return situation;
  }
}
