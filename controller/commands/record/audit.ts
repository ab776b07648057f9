/** `lotse audit`: shows the record of changes. */

import { rangeOf } from "../../../stacks/units/names.ts";
import { duration } from "../../config/flag-values.ts";
import { ConfigError } from "../../diagnostics/errors.ts";
import { forPeople, printable } from "../../diagnostics/printable.ts";
import { OwnConfigMap } from "../../kube/config-map.ts";
import { type AuditEntry, attemptKey, parseEntries, renderEntries } from "../../record/entry.ts";
import { fieldText } from "../../record/forecast-text.ts";
import { ENTRIES } from "../../record/record.ts";
import type { Given } from "../command-line.ts";
import { type ClusterAccess, openAccess, textOf } from "../open.ts";
import { counted, placeText } from "../output.ts";

/** Prints the recorded changes. */
export async function audit({ flags, operands: [object] }: Given): Promise<void> {
  const sinceMs = parseAge(textOf(flags.since));
  using access = await openAccess(flags);
  const entries = select(await readEntries(access), {
    ...(sinceMs !== undefined && { after: new Date(Date.now() - sinceMs).toISOString() }),
    ...(object !== undefined && { object }),
  });
  process.stdout.write(
    flags.json
      ? printable(renderEntries(entries))
      : `${placeText(access.place)}: ${auditText(forPeople(entries), flags.verbose === true)}`,
  );
}

/** The record of changes in a cluster. */
export async function readEntries(access: ClusterAccess): Promise<readonly AuditEntry[]> {
  const data = await new OwnConfigMap(access.client, access, "audit").read();
  return parseEntries(data[ENTRIES] ?? "");
}

/** A duration in Go's syntax, in milliseconds. */
export function parseAge(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const parsed = duration(1, 31_536_000)(text);
  if ("value" in parsed) return parsed.value;
  throw new ConfigError([`--since: ${JSON.stringify(text)} is not ${parsed.allowed}, such as 15m or 24h`]);
}

/**
 * Entries since a time and of one object, given as `default/web` or as recorded (`Service default/web`). Throws when the
 * whole record has nothing of the object: its name may be misspelt.
 */
export function select(
  entries: readonly AuditEntry[],
  { after, object }: { readonly after?: string; readonly object?: string },
): readonly AuditEntry[] {
  const isOf = (entry: AuditEntry) =>
    (entry.kind === "change" || entry.kind === "approval") &&
    [entry.object, entry.object.split(" ")[1]].includes(object);
  const units = new Set(entries.filter(isOf).map(attemptKey));
  if (object !== undefined && units.size === 0)
    throw new ConfigError([
      `no changes of ${JSON.stringify(object)} are on record: name a Service as namespace/name, or a Node; without an object, every change is listed`,
    ]);
  return entries.filter(
    (entry) => (after === undefined || entry.at >= after) && (object === undefined || units.has(attemptKey(entry))),
  );
}

/** The record for a terminal: one line per change, oldest first; with `isVerbose`, also fields, reasons and requests. */
export function auditText(entries: readonly AuditEntry[], isVerbose = false): string {
  if (entries.length === 0) return "no changes on record\n";
  const blocks = [...Map.groupBy(entries, attemptKey).values()].map((block) => blockText(block, isVerbose));
  const changes = blocks.length;
  return `${[`${counted(changes, "entry", "entries")} on record`, ...blocks].join(isVerbose ? "\n\n" : "\n")}\n`;
}

function blockText(entries: readonly AuditEntry[], isVerbose: boolean): string {
  const [first] = entries;
  if (first?.kind === "approval") return `${first.at}  ${first.object}  approved by ${first.by}`;
  const change = entries.find((entry) => entry.kind === "change");
  const outcome = entries.find((entry) => entry.kind === "outcome");
  const writes = entries.filter((entry) => entry.kind === "write");
  const head = `${first?.at}  ${objectText(first, change)}  ${resultText(outcome)}  (run ${first?.run})`;
  if (!isVerbose) return `${head}  ${reasonText(change)}`;
  return [
    head,
    ...(change?.differences ?? []).map((difference) => `    ${fieldText(difference)}   (${difference.reason})`),
    ...writes.map(
      ({ method, path, status, durationMs }) => `    ${method} ${path}  ${status || "no response"}  ${durationMs} ms`,
    ),
  ].join("\n");
}

type Of<Kind> = Extract<AuditEntry, { readonly kind: Kind }> | undefined;

/** The object, and of a Node also which route. */
function objectText(first: AuditEntry | undefined, change: Of<"change">): string {
  const object = change?.object ?? first?.unit ?? "no unit";
  const range = rangeOf(first?.unit ?? "");
  return range === undefined || object.startsWith("route") ? object : `${object}: route ${range}`;
}

function resultText(outcome: Of<"outcome">): string {
  if (!outcome) return "outcome unknown";
  if (outcome.failure !== undefined) return `failed: ${outcome.failure}`;
  return outcome.operations.length > 0 ? `${outcome.status}: ${outcome.operations.join(", ")}` : outcome.status;
}

/** The reasons, each once. */
function reasonText(change: Of<"change">): string {
  const reasons = [...new Set((change?.differences ?? []).map(({ reason }) => reason))];
  const [first, ...more] = reasons;
  return first === undefined ? "" : `${first}${more.length > 0 ? ` and ${counted(more.length, "more reason")}` : ""}`;
}
