/** Which steps need a person's approval, and whether they have it. Pure. */
import { createHash } from "node:crypto";
import type { Difference } from "../../stacks/units/difference.ts";
import { parseJson } from "../diagnostics/printable.ts";
import type { Plan, PlannedUnit } from "./plan.ts";

/** What needs approval: nothing, removals, or every change. */
export type ApprovalMode = "none" | "deletions" | "manual";

/** A step that waits, as it is published. */
export interface PendingStep {
  readonly unit: string;
  readonly kind: PlannedUnit["kind"];
  /** The object it is for: `Service default/web`. */
  readonly object: string;
  readonly differences: readonly Difference[];
}

/** Changes that wait. The ID is a hash of exactly these. */
export interface PendingPlan {
  readonly id: string;
  /** ISO time. */
  readonly at: string;
  readonly steps: readonly PendingStep[];
}

/** A person's consent to a plan. */
export interface Approval {
  readonly plan: string;
  readonly by: string;
  readonly at: string;
}

/** The published plan and its approval. */
export interface StoredPlan {
  readonly plan?: PendingPlan;
  readonly approval?: Approval;
}

/**
 * The steps that need approval and do not have it: all of them, unless every one is part of the stored, approved plan.
 * A step is part of a plan that has the same unit and kind, and every difference of the step with the same values. The plan
 * may have more differences, which are applied already.
 */
export function waitingSteps(plan: Plan, mode: ApprovalMode, stored: StoredPlan): Plan {
  const needing = plan.filter(({ kind }) => mode === "manual" || (mode === "deletions" && kind === "remove"));
  return isApproved(stored) && needing.every((step) => isPartOf(step, stored)) ? [] : needing;
}

function isApproved({ plan, approval }: StoredPlan): boolean {
  // A plan that was edited after it was published no longer matches its ID.
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

/** A hash of the steps in ten hexadecimal digits, independent of their order. */
export function planId(steps: readonly Pick<PendingStep, "unit" | "kind" | "differences">[]): string {
  const parts = steps.map(({ unit, kind, differences }) =>
    JSON.stringify([unit, kind, differences.map(key).toSorted()]),
  );
  return createHash("sha256").update(parts.toSorted().join("\n")).digest("hex").slice(0, 10);
}

/** The plan to publish for the waiting steps. */
export function pendingPlan(waiting: Plan, objectOf: (step: PlannedUnit) => string, at: Date): PendingPlan {
  const steps = waiting.map((step) => {
    const { unit, kind, differences } = step;
    return { unit, kind, object: objectOf(step), differences };
  });
  return { id: planId(waiting), at: at.toISOString(), steps };
}

/** Parses the ConfigMap's data. What cannot be parsed counts as absent. */
export function parseStored(data: Readonly<Record<string, string>>): StoredPlan {
  const plan = parseJson<PendingPlan>(data.plan);
  const approval = parseJson<Approval>(data.approval);
  return {
    ...(plan && Array.isArray(plan.steps) && { plan }),
    ...(approval && typeof approval.plan === "string" && { approval }),
  };
}
