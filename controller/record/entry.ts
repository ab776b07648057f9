/** The record of every change in the cloud, as lines: what was to change and why, each request that did it, and what came of it. Pure. */
import type { V1Service } from "@kubernetes/client-node";
import type { RunReport } from "../../stacks/engine/run.ts";
import { parseJson } from "../diagnostics/printable.ts";
import type { Plan, PlannedUnit } from "../guard/plan.ts";
import { objectOf, type ReasonContext, reasonFor } from "../guard/reason.ts";
import type { Exchange } from "../hcloud/gateway.ts";
import { PREFIX } from "../render/service/options/annotations.ts";

interface Common {
  /** ISO time. */
  readonly at: string;
  readonly run: string;
  readonly unit?: string;
}

/** A field that was to change, and why. */
export interface RecordedDifference {
  readonly field: string;
  readonly from?: string;
  readonly to?: string;
  readonly reason: string;
}

/** What a Service asked for, as far as its balancer is made from it: enough to ask for it again. */
export interface RecordedWish {
  readonly annotations: Readonly<Record<string, string>>;
  readonly ports: readonly object[];
}

export type AuditEntry =
  | (Common & {
      readonly kind: "change";
      readonly unit: string;
      readonly object: string;
      readonly differences: readonly RecordedDifference[];
      readonly intent?: RecordedWish;
    })
  /** A request that reached the API. Status 0 means that no answer came: it may have been carried out. */
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
    });

/** The same for all entries about one unit in one run. */
export function attemptKey({ run, unit }: AuditEntry): string {
  return `${run} ${unit}`;
}

/** Differences of one unit that are written down; a large balancer has hundreds. */
const MAX_DIFFERENCES = 40;
const MAX_VALUE = 200;

/** What a run is about to do, and why. */
export function changeEntries(run: string, plan: Plan, context: ReasonContext, at: Date): readonly AuditEntry[] {
  return plan.map((step) => {
    const intent = intentOf(step, context);
    return {
      kind: "change",
      at: at.toISOString(),
      run,
      unit: step.unit,
      object: objectOf(step, context),
      differences: step.differences.slice(0, MAX_DIFFERENCES).map((difference) => ({
        field: difference.field,
        ...(difference.have !== undefined && { from: redacted(difference.field, difference.have) }),
        ...(difference.want !== undefined && { to: redacted(difference.field, difference.want) }),
        reason: reasonFor(step, difference, context),
      })),
      ...(intent && { intent }),
    };
  });
}

/** One request of a run, without its body, which may hold a key; nothing for reads, which change nothing. */
export function writeEntry(exchange: Exchange, at: Date): AuditEntry | undefined {
  const { run, unit, method, path, status, durationMs } = exchange;
  if (method === "GET" || method === "HEAD") return undefined;
  const common = { at: at.toISOString(), run, ...(unit !== undefined && { unit }) };
  return { kind: "write", ...common, method, path, status, durationMs };
}

export function outcomeEntries(run: string, outcomes: RunReport["outcomes"], at: Date): readonly AuditEntry[] {
  return Object.entries(outcomes).map(([unit, outcome]) => ({
    kind: "outcome",
    at: at.toISOString(),
    run,
    unit,
    status: outcome.status,
    operations: outcome.changes.map(({ operation, part }) => `${operation} ${part}`),
    ...(outcome.status === "failed" && { failure: outcome.failure.message }),
  }));
}

function intentOf({ unit, kind }: PlannedUnit, { rendered }: ReasonContext): RecordedWish | undefined {
  const intent = rendered.services.find((candidate) => candidate.unit === unit);
  return intent && kind === "make" ? recordWish(intent.service) : undefined;
}

/** What a Service asks for now. */
export function recordWish({ metadata, spec }: V1Service): RecordedWish {
  const annotations = Object.entries(metadata?.annotations ?? {}).filter(([key]) => key.startsWith(PREFIX));
  return { annotations: Object.fromEntries(annotations), ports: spec?.ports ?? [] };
}

/** Values that may hold a secret never get here by design; if one ever does, it is not written down. */
function redacted(field: string, value: string): string {
  if (/private.?key|token|secret|password/i.test(field) || value.includes("-----BEGIN")) return "(not recorded)";
  return value.length > MAX_VALUE ? `${value.slice(0, MAX_VALUE)}…` : value;
}

/** Entries of a text with one per line. What is no entry, such as a line that a crash cut off, is left out. */
export function parseEntries(text: string): readonly AuditEntry[] {
  return text.split("\n").flatMap((line) => {
    const entry = parseJson<AuditEntry>(line);
    return typeof entry?.at === "string" && typeof entry.kind === "string" ? [entry] : [];
  });
}

export function renderEntries(entries: readonly AuditEntry[]): string {
  return entries.map((entry) => `${JSON.stringify(entry)}\n`).join("");
}

/** The newest lines of a text that fit into so many bytes. */
export function keepNewest(text: string, maxBytes: number): string {
  const bytes = Buffer.from(text);
  if (bytes.length <= maxBytes) return text;
  const tail = bytes.subarray(bytes.length - maxBytes).toString("utf8");
  return tail.slice(tail.indexOf("\n") + 1);
}
