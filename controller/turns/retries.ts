/** When each unit may be tried, and each failed write repeated. */
import type { RunReport } from "../../stacks/engine/run.ts";
import { serviceKeyOf } from "../../stacks/units/names.ts";
import type { UnitId } from "../../stacks/units/spec.ts";
import { Backoff } from "../guard/backoff.ts";
import type { Pace } from "../guard/pace.ts";
import { fingerprint, type Plan, type PlannedUnit } from "../guard/plan.ts";
import type { Write } from "../publish/writes.ts";

/** Units wait after failures, and while their Service changes too often. */
export class Retries {
  readonly #pace: Pace;
  readonly #units = new Backoff();
  /** Objects that could not be written to, by UID. */
  readonly #objects = new Backoff();
  /** Services that change too often. */
  #held: ReadonlySet<string> = new Set();

  constructor(pace: Pace) {
    this.#pace = pace;
  }

  /** Slows down those of these Services that change too often. */
  holdBack(services: Parameters<Pace["holdBack"]>[0]): void {
    this.#held = this.#pace.holdBack(services);
  }

  isDue(step: PlannedUnit): boolean {
    return !this.#isHeld(step) && this.#units.isDue(step.unit, fingerprint(step));
  }

  /** Learns how steps ended; a step without an outcome has not. */
  learn(steps: Plan, outcomes: RunReport["outcomes"]): void {
    for (const step of steps) {
      const outcome = outcomes[step.unit];
      if (outcome?.status === "failed") this.#units.failed(step.unit, fingerprint(step), outcome.failure.retry);
      else if (outcome) this.#units.clear(step.unit);
    }
  }

  /** Forgets the failures of a unit. */
  clear(unit: UnitId): void {
    this.#units.clear(unit);
  }

  /** Postpones the retry of a unit until its outcome is known. */
  suspend(unit: UnitId): void {
    this.#units.suspend(unit);
  }

  /** Forgets the failures of units that are neither `open` nor wait for their retry alone. */
  retain(waiting: Plan, open: Iterable<UnitId>): void {
    const units = waiting.flatMap((step) => (this.#isHeld(step) ? [] : step.unit));
    this.#units.retain(new Set([...units, ...open]));
  }

  /** The next turn repeats these writes by itself. Events are repeated by their recorder. */
  learnWrites(failed: readonly Write[]): void {
    const uids = new Set(failed.flatMap((write) => uidOf(write) ?? []));
    this.#objects.retain(uids);
    for (const uid of uids) this.#objects.failed(uid, "", "soon");
  }

  /** Milliseconds until something may be tried, by what it waits for. */
  get waitsMs(): readonly (number | undefined)[] {
    return [this.#objects.nextMs, this.#units.nextMs, this.#pace.nextMs];
  }

  #isHeld({ kind, unit }: PlannedUnit): boolean {
    return kind === "make" && this.#held.has(serviceKeyOf(unit));
  }
}

/** The UID of the object that a write is for; undefined for Events. */
function uidOf(write: Write): string | undefined {
  if (write.kind === "event") return undefined;
  return (write.kind === "network-condition" ? write.node : write.service).metadata?.uid;
}
