/** Holds back changes that need approval: publishes each one, and lets it pass once it is approved. */
import { createHash } from "node:crypto";
import type { Difference } from "../../stacks/units/difference.ts";
import type { UnitId } from "../../stacks/units/spec.ts";
import { messageOf } from "../diagnostics/errors.ts";
import type { Logger } from "../diagnostics/log.ts";
import { parseJson } from "../diagnostics/printable.ts";
import type { OwnConfigMap } from "../kube/config-map.ts";
import type { Plan, PlannedUnit, Situation } from "./plan.ts";

/** What needs approval: nothing, removals, or every change. */
export type ApprovalMode = "none" | "deletions" | "manual";

/** A change that waits, as it is published. The text is the preview's, with reasons and price. */
export interface PendingStep {
  /** 128 bits of a hash of exactly this change. */
  readonly id: string;
  readonly unit: string;
  /** The object it is for: `Service default/web`. */
  readonly object: string;
  /** ISO time of its publication. */
  readonly at: string;
  /** For an Event: `create load balancer lb11 in fsn1 (+5.39 EUR a month)`. */
  readonly summary: string;
  readonly text: readonly string[];
}

/** A change that was approved, and by whom. */
export interface Approval {
  readonly step: PendingStep;
  /** A user name. With the chart's admission policy, the API server has verified it. */
  readonly by: string;
}

/** A change in words. */
export type Description = Pick<PendingStep, "unit" | "object" | "summary" | "text">;

export interface ApprovalParts {
  readonly mode: ApprovalMode;
  /** The ConfigMap in which changes are published and approved. */
  readonly map: Pick<OwnConfigMap, "read" | "update">;
  readonly log: Logger;
}

/** Steps that may happen now, and what waits. */
export interface Passed {
  readonly plan: Plan;
  /** Number of changes that wait for approval. */
  readonly waiting: number;
  /** Changes that were published in this turn. */
  readonly announced: readonly PendingStep[];
  /** Changes that were found approved in this turn. */
  readonly approved: readonly Approval[];
}

/** Keys in the ConfigMap: `step.<id>` has the published change, `approved.<id>` the name of the approver. */
const STEP = "step.";
const APPROVED = "approved.";

type Data = Readonly<Record<string, string>>;

/** An approval that was used up for a unit. */
interface Grant extends Pick<PlannedUnit, "kind"> {
  readonly differences: ReadonlySet<string>;
}

export class ApprovalGate {
  readonly #parts: ApprovalParts;
  /**
   * Approved differences per unit, until the unit is as wanted: a change that fails half-way continues. The approval of a
   * removal ends when the unit is wanted again.
   */
  readonly #granted = new Map<UnitId, Grant>();
  /** Whether the ConfigMap is known to be empty. */
  #isClear = false;

  constructor(parts: ApprovalParts) {
    this.#parts = parts;
  }

  /**
   * `describe` puts changes into words when they are published. Without a readable ConfigMap, nothing is approved. What
   * was approved of units under way continues afterwards.
   */
  async pass(
    situation: Pick<Situation, "plan" | "underWay">,
    describe: (steps: Plan) => Promise<readonly Description[]>,
  ): Promise<Passed> {
    const { plan } = situation;
    this.forget(situation);
    const open = plan.filter((step) => needsApproval(step, this.#parts.mode) && !this.#isGranted(step));
    if (open.length === 0 && this.#isClear) return { plan, waiting: 0, announced: [], approved: [] };
    try {
      return await this.#settle(plan, open, describe);
    } catch (error) {
      this.#parts.log.warn({ error: messageOf(error) }, "approvals unreadable, holding back changes that need one");
      return { plan: without(plan, open), waiting: open.length, announced: [], approved: [] };
    }
  }

  /** Forgets approvals of units that are as wanted, so that they cover no later change. Also to be called after a run. */
  forget({ plan, underWay = new Map() }: Pick<Situation, "plan" | "underWay">): void {
    const unfinished = new Map([...underWay, ...plan.map((step) => [step.unit, step] as const)]);
    for (const [unit, { kind }] of this.#granted) if (unfinished.get(unit)?.kind !== kind) this.#granted.delete(unit);
  }

  async #settle(plan: Plan, open: Plan, describe: (steps: Plan) => Promise<readonly Description[]>): Promise<Passed> {
    const { map, log } = this.#parts;
    const data = await map.read();
    const approved = open.filter((step) => isApproved(step, data));
    const waiting = without(open, approved);
    const room = ROOM.bytes - sizeOf(retain(data, waiting, []));
    const unpublished = waiting.filter((step) => data[STEP + stepId(step)] === undefined);
    const fresh = room > ROOM.bytes / ROOM.changes ? unpublished.slice(0, ROOM.changes) : [];
    const announced = fresh.length > 0 ? publish(fresh, await describe(fresh), room) : [];
    // An approval is used up before its change is made, so that it cannot cover the same change again.
    await map.update((current) => retain(current, waiting, announced));
    this.#isClear = waiting.length === 0;
    for (const { unit, kind, differences } of approved)
      this.#granted.set(unit, { kind, differences: new Set(differences.map(keyOf)) });
    if (announced.length > 0) log.info({ units: announced.map(({ unit }) => unit) }, "changes wait for approval");
    const found = approved.map((step) => approvalOf(step, data));
    return { plan: without(plan, waiting), waiting: waiting.length, announced, approved: found };
  }

  #isGranted({ unit, differences }: PlannedUnit): boolean {
    const granted = this.#granted.get(unit)?.differences;
    return granted !== undefined && differences.every((difference) => granted.has(keyOf(difference)));
  }
}

function needsApproval({ kind }: PlannedUnit, mode: ApprovalMode): boolean {
  return mode === "manual" || (mode === "deletions" && kind === "remove");
}

function without(plan: Plan, steps: Plan): Plan {
  return plan.filter((step) => !steps.includes(step));
}

/** Identifies a change. 128 bits, so that no second change with the same id can be found. */
export function stepId({ unit, kind, differences }: Pick<PlannedUnit, "unit" | "kind" | "differences">): string {
  const text = JSON.stringify([unit, kind, differences.map(keyOf).toSorted()]);
  return createHash("sha256").update(text).digest("hex").slice(0, 32);
}

function keyOf({ part, field, want, have }: Difference): string {
  return JSON.stringify([part, field, want, have]);
}

/** A published change must still have its id: its text may have been edited, but then it belongs to another change. */
function isApproved(step: PlannedUnit, data: Data): boolean {
  const id = stepId(step);
  return data[APPROVED + id] !== undefined && parseJson<PendingStep>(data[STEP + id])?.unit === step.unit;
}

function approvalOf(step: PlannedUnit, data: Data): Approval {
  const id = stepId(step);
  const published = parseJson<PendingStep>(data[STEP + id]) ?? { id, ...UNKNOWN, unit: step.unit };
  return { step: published, by: data[APPROVED + id] ?? "" };
}

const UNKNOWN = { object: "", at: "", summary: "", text: [] };

/**
 * A ConfigMap holds 1 MiB, approvals included. Changes share this room: the more of them wait, the shorter their texts. What
 * does not fit is published once some of the others are approved.
 */
const ROOM = { bytes: 700_000, changes: 2_000, lines: 40, characters: 200 };

function publish(steps: Plan, described: readonly Description[], room: number): readonly PendingStep[] {
  const at = new Date().toISOString();
  const share = room / steps.length;
  let left = room;
  return steps.flatMap((step) => {
    const { object, summary, text } = described.find(({ unit }) => unit === step.unit) ?? UNKNOWN;
    const head = { id: stepId(step), unit: step.unit, object, at, summary: summary.slice(0, ROOM.characters) };
    const published = { ...head, text: shorten(text, share - sizeOf(head)) };
    left -= sizeOf(published);
    return left > 0 ? [published] : [];
  });
}

function sizeOf(value: unknown): number {
  return Buffer.byteLength(JSON.stringify(value)) + STEP.length + 40;
}

function shorten(text: readonly string[], room: number): readonly string[] {
  let left = room;
  const lines = text.slice(0, ROOM.lines).map((line) => line.slice(0, ROOM.characters));
  const end = lines.findIndex((line) => {
    left -= sizeOf(line);
    return left < 0;
  });
  const kept = end < 0 ? lines : lines.slice(0, end);
  return kept.length < text.length ? [...kept, `… ${text.length - kept.length} more lines: lotse preview`] : kept;
}

/** What stays in the ConfigMap: changes that wait, with approvals that arrived meanwhile, but none given in advance. */
function retain(data: Data, waiting: Plan, announced: readonly PendingStep[]): Data {
  const published = new Set(announced.map(({ id }) => id));
  const ids = new Set(waiting.map(stepId).filter((id) => !published.has(id)));
  const kept = Object.entries(data).filter(([key]) => ids.has(key.slice(key.indexOf(".") + 1)));
  return {
    ...Object.fromEntries(kept),
    ...Object.fromEntries(announced.map((step) => [STEP + step.id, JSON.stringify(step)])),
  };
}

/** The changes in the ConfigMap that wait, and those that are approved and about to be made. */
export function parsePending(data: Data): {
  readonly waiting: readonly PendingStep[];
  readonly approved: readonly Approval[];
} {
  const steps = Object.entries(data).flatMap(([key, text]) => {
    const step = key.startsWith(STEP) ? parseJson<PendingStep>(text) : undefined;
    return step && Array.isArray(step.text) && key === STEP + step.id ? [step] : [];
  });
  const byTime = steps.toSorted((a, b) => (a.at + a.object < b.at + b.object ? -1 : 1));
  const approverOf = ({ id }: PendingStep) => data[APPROVED + id];
  return {
    waiting: byTime.filter((step) => approverOf(step) === undefined),
    approved: byTime.flatMap((step) => {
      const by = approverOf(step);
      return by === undefined ? [] : [{ step, by }];
    }),
  };
}

/** The ConfigMap's data with approvals added. */
export function withApprovals(data: Data, ids: readonly string[], by: string): Data {
  return { ...data, ...Object.fromEntries(ids.map((id) => [APPROVED + id, by])) };
}
