/** The log of a run: one line for each change in the cloud, with the object it is for, the run, and the reason. */
import type { RunReport, Step } from "../../stacks/run.ts";
import type { UnitId } from "../../stacks/spec.ts";
import type { Logger } from "../log.ts";
import type { Drift } from "./drift.ts";
import type { Plan } from "./plan.ts";
import { objectOf, type ReasonContext, reasonFor } from "./reason.ts";

/** The object that a unit is for, and why it is changed. */
export interface Why {
  readonly object: string;
  readonly reason: string;
}

/** What is behind each unit of a run. Of many differences the first one speaks for all; what is new differs by not being there. */
export function explainRun(due: Plan, drifted: readonly Drift[], context: ReasonContext): ReadonlyMap<UnitId, Why> {
  const outside = new Set(drifted.map(({ unit }) => unit));
  return new Map(
    due.map((step) => {
      const isNew = context.desired.present[step.unit] === undefined;
      const [first] = isNew ? [{ field: "existence" }] : step.differences;
      const wished = first ? reasonFor(step, first, context) : "";
      const reason = outside.has(step.unit) ? "it was changed outside of the cluster" : wished;
      return [step.unit, { object: objectOf(step, context), reason }];
    }),
  );
}

export class RunLog {
  readonly #log: Logger;
  readonly #run: string;
  readonly #why: ReadonlyMap<UnitId, Why>;

  constructor(log: Logger, run: string, why: ReadonlyMap<UnitId, Why>) {
    this.#log = log;
    this.#run = run;
    this.#why = why;
  }

  step({ unit, part, operation, fields, phase }: Step): void {
    const facts = { run: this.#run, ...this.#why.get(unit), unit, part, operation };
    if (phase === "started") this.#log.debug(facts, "change started");
    else if (phase === "failed") this.#log.warn(facts, "change failed");
    else this.#log.info({ ...facts, ...(fields.length > 0 && { fields }) }, "cloud changed");
  }

  finished({ outcomes, durationMs }: RunReport): void {
    const units = Object.entries(outcomes);
    for (const [unit, outcome] of units) {
      if (outcome.status === "failed") this.#log.warn({ run: this.#run, unit, ...outcome.failure }, "unit failed");
    }
    this.#log.info({ run: this.#run, units: units.length, durationMs }, "run finished");
  }
}
