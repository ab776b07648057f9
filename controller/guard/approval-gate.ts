/** Holds back changes that need approval: publishes them, and lets them pass once they are approved. */
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { OwnConfigMap } from "../kube/config-map.ts";
import {
  type ApprovalMode,
  type PendingPlan,
  parseStored,
  pendingPlan,
  type StoredPlan,
  waitingSteps,
} from "./approval.ts";
import type { Plan, PlannedUnit } from "./plan.ts";

export interface ApprovalParts {
  readonly mode: ApprovalMode;
  /** The ConfigMap in which the plan is published and approved. */
  readonly map: Pick<OwnConfigMap, "read" | "update">;
  readonly log: Logger;
}

/** Steps that may happen now, and the plan that waits for approval. */
export interface Passed {
  readonly plan: Plan;
  readonly pending?: PendingPlan;
  /** The waiting steps, in the turn that publishes them. */
  readonly announced?: Plan;
}

export class ApprovalGate {
  readonly #parts: ApprovalParts;
  /** Id of the published plan; undefined while unknown. */
  #published: string | undefined;
  /** The plan applied last: its approval is used up, even if it could not be removed. */
  #done: string | undefined;

  constructor(parts: ApprovalParts) {
    this.#parts = parts;
  }

  async pass(plan: Plan, objectOf: (step: PlannedUnit) => string): Promise<Passed> {
    const { mode, log } = this.#parts;
    if (mode === "none") return { plan };
    try {
      const stored = await this.#stored();
      const waiting = waitingSteps(plan, mode, stored);
      if (waiting.length === 0) {
        if (stored.plan) await this.#settle(plan, stored);
        return { plan };
      }
      const pending = pendingPlan(waiting, objectOf, new Date());
      const isNew = await this.#publish(pending, stored);
      return { plan: plan.filter((step) => !waiting.includes(step)), pending, ...(isNew && { announced: waiting }) };
    } catch (error) {
      log.warn({ error: messageOf(error) }, "approvals unreadable, holding back changes that need one");
      const waiting = new Set(waitingSteps(plan, mode, {}));
      return { plan: plan.filter((step) => !waiting.has(step)) };
    }
  }

  async #stored(): Promise<StoredPlan> {
    const stored = parseStored(await this.#parts.map.read());
    return stored.plan && stored.plan.id === this.#done ? {} : stored;
  }

  /** Returns whether this plan was not published before. */
  async #publish(pending: PendingPlan, stored: StoredPlan): Promise<boolean> {
    const { map, log } = this.#parts;
    if (stored.plan?.id !== pending.id) await map.update(() => ({ plan: JSON.stringify(pending) }));
    if (this.#published === pending.id) return false;
    this.#published = pending.id;
    if (stored.approval) log.warn({ ...stored.approval }, "approval is outdated: the plan has changed");
    log.info({ plan: pending.id, units: pending.steps.map(({ unit }) => unit) }, "changes wait for approval");
    return true;
  }

  /** Removes an approved plan once all of it is applied: the same changes need a new approval later. */
  async #settle(plan: Plan, { plan: stored, approval }: StoredPlan): Promise<void> {
    const left = plan.filter(({ unit }) => stored?.steps.some((step) => step.unit === unit));
    if (left.length > 0 && approval) {
      if (this.#published !== undefined) this.#parts.log.info({ ...approval }, "applying approved changes");
      this.#published = undefined;
      return;
    }
    this.#done = approval && stored?.id;
    await this.#parts.map.update(() => ({}));
    this.#published = undefined;
  }
}
