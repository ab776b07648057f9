/** Holds back what somebody has to approve first: publishes it, tells the Services, and lets it pass when it was approved. */
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import type { OwnConfigMap } from "../kube/config-map.ts";
import { onService, type Write } from "../publish/writes.ts";
import type { Rendered } from "../render/cluster.ts";
import {
  type ApprovalMode,
  type PendingPlan,
  parseStored,
  pendingPlan,
  type StoredPlan,
  waitingSteps,
} from "./approval.ts";
import { describeChanges } from "./drift.ts";
import type { Plan, PlannedUnit } from "./plan.ts";

export interface ApprovalParts {
  readonly mode: ApprovalMode;
  /** Where the plan is published, and approved. */
  readonly map: Pick<OwnConfigMap, "read" | "update">;
  readonly log: Logger;
}

/** What may go now, and what to tell the objects of what may not. */
export interface Passed {
  readonly plan: Plan;
  readonly notices: readonly Write[];
  readonly pending?: PendingPlan;
}

interface Held {
  readonly plan: Plan;
  readonly waiting: Plan;
  readonly rendered: Rendered;
  readonly objectOf: (step: PlannedUnit) => string;
}

export class ApprovalGate {
  readonly #parts: ApprovalParts;
  /** Id of the plan that is published; undefined while that is not known. */
  #published: string | undefined;
  /** The plan that was carried out last: its approval is used up, also when it could not be taken down. */
  #done: string | undefined;

  constructor(parts: ApprovalParts) {
    this.#parts = parts;
  }

  async pass(plan: Plan, rendered: Rendered, objectOf: (step: PlannedUnit) => string): Promise<Passed> {
    const { mode, log } = this.#parts;
    if (mode === "none") return { plan, notices: [] };
    try {
      const stored = await this.#stored();
      const waiting = waitingSteps(plan, mode, stored);
      if (waiting.length > 0) return await this.#hold(stored, { waiting, plan, rendered, objectOf });
      if (stored.plan) await this.#settle(plan, stored);
      return { plan, notices: [] };
    } catch (error) {
      log.warn({ error: messageOf(error) }, "approvals cannot be read, changes that need one wait");
      const waiting = new Set(waitingSteps(plan, mode, {}));
      return { plan: plan.filter((step) => !waiting.has(step)), notices: [] };
    }
  }

  async #stored(): Promise<StoredPlan> {
    const stored = parseStored(await this.#parts.map.read());
    return stored.plan && stored.plan.id === this.#done ? {} : stored;
  }

  async #hold(stored: StoredPlan, { waiting, plan, rendered, objectOf }: Held): Promise<Passed> {
    const { map, log } = this.#parts;
    const pending = pendingPlan(waiting, objectOf, new Date());
    const passing = plan.filter((step) => !waiting.includes(step));
    if (stored.plan?.id !== pending.id) await map.update(() => ({ plan: JSON.stringify(pending) }));
    if (this.#published === pending.id) return { plan: passing, notices: [], pending };
    this.#published = pending.id;
    if (stored.approval)
      log.warn({ ...stored.approval }, "approved changes are refused: they are not what is to be done now");
    log.info({ plan: pending.id, units: waiting.map(({ unit }) => unit) }, "changes wait for approval");
    return { plan: passing, notices: noticesOf(waiting, rendered, pending.id), pending };
  }

  /** An approved plan of which nothing is left is taken down: the same differences another day need another approval. */
  async #settle(plan: Plan, { plan: stored, approval }: StoredPlan): Promise<void> {
    const left = plan.filter(({ unit }) => stored?.steps.some((step) => step.unit === unit));
    if (left.length > 0 && approval) {
      if (this.#published !== undefined) this.#parts.log.info({ ...approval }, "approved changes are being made");
      this.#published = undefined;
      return;
    }
    this.#done = approval && stored?.id;
    await this.#parts.map.update(() => ({}));
    this.#published = undefined;
  }
}

function noticesOf(waiting: Plan, { services }: Rendered, id: string): readonly Write[] {
  return waiting.flatMap((step): readonly Write[] => {
    const service = services.find(({ unit }) => unit === step.unit)?.service;
    if (!service) return [];
    const what = step.kind === "remove" ? "its load balancer would be deleted" : describeChanges(step.differences);
    const message = `A change waits for approval, run "lotse approve ${id}" to make it: ${what}`;
    return [onService(service, { type: "Normal", reason: "PlanPending", message })];
  });
}
