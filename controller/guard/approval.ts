/** May this change happen now, or does somebody have to say so first? Pure. */
import { createHash } from "node:crypto";
import type { Difference } from "../../stacks/units/difference.ts";
import { parseJson } from "../diagnostics/printable.ts";
import type { Plan, PlannedUnit } from "./plan.ts";

/** What waits for approval: nothing, removals, or every change. */
export type ApprovalMode = "none" | "deletions" | "manual";

export interface PendingStep {
  readonly unit: string;
  readonly kind: PlannedUnit["kind"];
  /** The object it is for: `Service default/web`. */
  readonly object: string;
  readonly differences: readonly Difference[];
}

/** Changes that wait. The id stands for exactly these. */
export interface PendingPlan {
  readonly id: string;
  /** ISO time. */
  readonly at: string;
  readonly steps: readonly PendingStep[];
}

/** Somebody's word that a plan may be carried out. */
export interface Approval {
  readonly plan: string;
  readonly by: string;
  readonly at: string;
}

/** What was published, and what was said of it. */
export interface StoredPlan {
  readonly plan?: PendingPlan;
  readonly approval?: Approval;
}

/**
 * | steps that need approval | stored plan | they |
 * | --- | --- | --- |
 * | none | – | – |
 * | each part of the stored plan | approved | may go |
 * | anything else | – | wait |
 *
 * A step is part of a plan when the plan has its unit, with every field that differs now, from and to the same: what has been
 * done already may be missing, nothing may have come in addition.
 */
export function waitingSteps(plan: Plan, mode: ApprovalMode, stored: StoredPlan): Plan {
  const needing = plan.filter(({ kind }) => mode === "manual" || (mode === "deletions" && kind === "remove"));
  return isApproved(stored) && needing.every((step) => isPartOf(step, stored)) ? [] : needing;
}

function isApproved({ plan, approval }: StoredPlan): boolean {
  // The id is made from the steps: a plan that was edited after it was published is nobody's plan.
  return plan !== undefined && approval?.plan === plan.id && planId(plan.steps) === plan.id;
}

function isPartOf({ unit, kind, differences }: PlannedUnit, { plan }: StoredPlan): boolean {
  const step = plan?.steps.find((candidate) => candidate.unit === unit && candidate.kind === kind);
  const approved = new Set(step?.differences.map(key));
  return step !== undefined && differences.every((difference) => approved.has(key(difference)));
}

function key({ field, want, have }: Difference): string {
  return JSON.stringify([field, want, have]);
}

/** Ten hexadecimal digits that stand for the steps, in whatever order. */
export function planId(steps: readonly Pick<PendingStep, "unit" | "kind" | "differences">[]): string {
  const parts = steps.map(({ unit, kind, differences }) =>
    JSON.stringify([unit, kind, differences.map(key).toSorted()]),
  );
  return createHash("sha256").update(parts.toSorted().join("\n")).digest("hex").slice(0, 10);
}

/** What waits, for publishing. */
export function pendingPlan(waiting: Plan, objectOf: (step: PlannedUnit) => string, at: Date): PendingPlan {
  const steps = waiting.map((step) => {
    const { unit, kind, differences } = step;
    return { unit, kind, object: objectOf(step), differences };
  });
  return { id: planId(waiting), at: at.toISOString(), steps };
}

/** A plan and its approval from the texts they are kept in; what cannot be read counts as absent. */
export function parseStored(data: Readonly<Record<string, string>>): StoredPlan {
  const plan = parseJson<PendingPlan>(data.plan);
  const approval = parseJson<Approval>(data.approval);
  return {
    ...(plan && Array.isArray(plan.steps) && { plan }),
    ...(approval && typeof approval.plan === "string" && { approval }),
  };
}
