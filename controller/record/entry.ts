/** Entries of the record: planned changes with their reasons, the requests that made them, and their outcomes. Pure. */

import type { V1Service } from "@kubernetes/client-node";
import type { RunReport } from "../../stacks/engine/run.ts";
import { defined } from "../../stacks/units/defined.ts";
import { type Difference, describeField } from "../../stacks/units/difference.ts";
import { mainPart } from "../../stacks/units/names.ts";
import { parseJson } from "../diagnostics/printable.ts";
import type { Plan, PlannedUnit } from "../guard/plan.ts";
import type { Exchange } from "../hcloud/sender.ts";
import { PREFIX } from "../render/service/options/annotations.ts";
import { isOption } from "../render/service/options/unknown-annotations.ts";
import { objectOf, type ReasonContext, type ReasonedField, reasonFor } from "./reason.ts";

interface Common {
  /** ISO time. */
  readonly at: string;
  readonly run: string;
  readonly unit?: string;
}

/** The parts of a Service that its load balancer is rendered from, enough to restore them. */
export interface RecordedWish {
  readonly annotations: Readonly<Record<string, string>>;
  readonly ports: readonly object[];
}

/** One entry; a run adds one `change` and one `outcome` per unit, and a `write` per request. Approvals precede their run. */
export type AuditEntry =
  | (Common & {
      readonly kind: "change";
      readonly unit: string;
      readonly object: string;
      readonly differences: readonly ReasonedField[];
      readonly intent?: RecordedWish;
    })
  /** A request that was sent. Status 0 means that no response came; it may still have taken effect. */
  | (Common & {
      readonly kind: "write";
      readonly method: string;
      readonly path: string;
      readonly status: number;
      readonly durationMs: number;
    })
  | (Common & {
      readonly kind: "outcome";
      readonly unit: string;
      readonly status: "applied" | "failed";
      /** What the engine did, e.g. `create listener-80`. */
      readonly operations: readonly string[];
      readonly failure?: string;
    })
  /** A change that a person approved. */
  | (Common & { readonly kind: "approval"; readonly unit: string; readonly object: string; readonly by: string });

/** Identifies all entries of one unit in one run. */
export function attemptKey({ run, unit }: AuditEntry): string {
  return `${run} ${unit}`;
}

/** Maximum number of differences recorded per unit; a large load balancer has hundreds. */
const MAX_DIFFERENCES = 40;
const MAX_OPERATIONS = 200;
const MAX_VALUE = 200;
/** A longer wish is not recorded, because half of it could not be restored. */
const MAX_WISH = 8_192;
const MAX_TEXT = 1_000;

/** The reason for repairing what was changed outside the cluster. */
export const DRIFT = "drift: it was changed outside the cluster";

interface Occasion {
  readonly run: string;
  readonly at: Date;
  /** Units that are being repaired. */
  readonly drift?: ReadonlySet<string>;
}

/** What a run is about to change, and why. */
export function changeEntries({ run, at, drift }: Occasion, plan: Plan, context: ReasonContext): readonly AuditEntry[] {
  return plan.map((step) => {
    const intent = intentOf(step, context);
    const isNew = step.kind === "make" && context.rendered.existing[step.unit] === undefined;
    const made: Difference = { part: mainPart(step.unit), field: "existence", want: "present" };
    const differences = isNew ? [made, ...step.differences] : step.differences;
    return {
      kind: "change",
      at: at.toISOString(),
      run,
      unit: step.unit,
      object: objectOf(step, context),
      differences: differences.slice(0, MAX_DIFFERENCES).map((difference) => ({
        field: describeField(difference),
        ...defined({ from: redacted(difference, "have"), to: redacted(difference, "want") }),
        reason: drift?.has(step.unit) ? DRIFT : reasonFor(step, difference, context).slice(0, MAX_TEXT),
      })),
      ...defined({ intent }),
    };
  });
}

/** One write request of a run, without its body, which may contain a key. Undefined for reads. */
export function writeEntry(exchange: Exchange, at: Date): AuditEntry | undefined {
  const { run, unit, method, path, status, durationMs } = exchange;
  if (method === "GET" || method === "HEAD") return undefined;
  return { kind: "write", at: at.toISOString(), run, ...defined({ unit }), method, path, status, durationMs };
}

/** How each unit of a run ended. */
export function outcomeEntries(run: string, outcomes: RunReport["outcomes"], at: Date): readonly AuditEntry[] {
  return Object.entries(outcomes).map(([unit, outcome]) => ({
    kind: "outcome",
    at: at.toISOString(),
    run,
    unit,
    status: outcome.status,
    operations: outcome.changes.slice(0, MAX_OPERATIONS).map(({ operation, part }) => `${operation} ${part}`),
    ...(outcome.status === "failed" && { failure: outcome.failure.message.slice(0, MAX_TEXT) }),
  }));
}

function intentOf({ unit, kind }: PlannedUnit, { rendered }: ReasonContext): RecordedWish | undefined {
  const intent = rendered.services.find((candidate) => candidate.unit === unit);
  if (!intent || kind !== "make") return undefined;
  const wish = recordWish(intent.service);
  return JSON.stringify(wish).length > MAX_WISH ? undefined : wish;
}

/** The recorded parts of a Service, as they are now: its ports, and the annotations that have an effect. */
export function recordWish({ metadata, spec }: V1Service): RecordedWish {
  const annotations = Object.entries(metadata?.annotations ?? {}).filter(
    ([key]) => key.startsWith(PREFIX) && isOption(key.slice(PREFIX.length)),
  );
  return { annotations: Object.fromEntries(annotations), ports: spec?.ports ?? [] };
}

/** Secrets never get here by design. This is a second line of defence. */
function redacted({ field, ...sides }: Difference, side: "have" | "want"): string | undefined {
  const value = sides[side];
  if (value === undefined) return undefined;
  if (/private.?key|token|secret|password/i.test(field) || value.includes("-----BEGIN")) return "(not recorded)";
  return value.length > MAX_VALUE ? `${value.slice(0, MAX_VALUE)}…` : value;
}

/** Parses entries, one per line. Invalid lines, such as one cut off by a crash, are skipped. */
export function parseEntries(text: string): readonly AuditEntry[] {
  return text.split("\n").flatMap((line) => {
    const entry = parseJson<AuditEntry>(line);
    return typeof entry?.at === "string" && typeof entry.kind === "string" ? [entry] : [];
  });
}

/** Entries as text, one JSON object per line. */
export function renderEntries(entries: readonly AuditEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}
