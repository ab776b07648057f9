/** `lotse audit`: shows the record of changes. */

import { ConfigError } from "../../diagnostics/errors.ts";
import { forPeople, printable } from "../../diagnostics/printable.ts";
import { OwnConfigMap } from "../../kube/config-map.ts";
import { type AuditEntry, attemptKey, parseEntries, renderEntries } from "../../record/entry.ts";
import { ENTRIES } from "../../record/record.ts";
import type { Given } from "../command-line.ts";
import { openAccess, textOf } from "../open.ts";
import { fieldText } from "../preview/forecast-text.ts";

/** Prints the recorded changes. */
export async function audit({ flags, operands: [service] }: Given): Promise<void> {
  const sinceMs = parseAge(textOf(flags.since));
  using access = await openAccess(flags, process.env);
  const data = await new OwnConfigMap(access.client, access, "audit").read();
  const entries = select(parseEntries(data[ENTRIES] ?? ""), {
    ...(sinceMs !== undefined && { after: new Date(Date.now() - sinceMs).toISOString() }),
    ...(service !== undefined && { object: service }),
  });
  process.stdout.write(flags.json ? printable(renderEntries(entries)) : auditText(forPeople(entries)));
}

const UNITS = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** `90s`, `15m`, `1h`, `7d` in milliseconds. */
export function parseAge(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const { count, unit } = /^(?<count>\d{1,6})(?<unit>[smhd])$/.exec(text)?.groups ?? {};
  if (!unit) throw new ConfigError([`--since: ${JSON.stringify(text)} is not a time such as 90s, 15m, 1h or 7d`]);
  return Number(count) * UNITS[unit as keyof typeof UNITS];
}

/** Entries since a time and of one object, given as `default/web` or as recorded (`Service default/web`). */
export function select(
  entries: readonly AuditEntry[],
  { after, object }: { readonly after?: string; readonly object?: string },
): readonly AuditEntry[] {
  const isOf = (entry: AuditEntry) =>
    entry.kind === "change" && [entry.object, entry.object.split(" ")[1]].includes(object);
  const units = new Set(entries.filter(isOf).map(attemptKey));
  return entries.filter(
    (entry) => (after === undefined || entry.at >= after) && (object === undefined || units.has(attemptKey(entry))),
  );
}

/** The record for a terminal: one block per run and unit, oldest first. */
export function auditText(entries: readonly AuditEntry[]): string {
  if (entries.length === 0) return "no changes on record\n";
  const blocks = [...Map.groupBy(entries, attemptKey).values()].map(blockText);
  return `${blocks.join("\n\n")}\n`;
}

function blockText(entries: readonly AuditEntry[]): string {
  const [first] = entries;
  const change = entries.find((entry) => entry.kind === "change");
  const outcome = entries.find((entry) => entry.kind === "outcome");
  const writes = entries.filter((entry) => entry.kind === "write");
  const result = outcome
    ? outcome.failure === undefined
      ? outcome.status
      : `failed: ${outcome.failure}`
    : "outcome unknown";
  return [
    `${first?.at}  ${change?.object ?? first?.unit ?? "no unit"}  ${result}  (run ${first?.run})`,
    ...(change?.differences ?? []).map((difference) => `    ${fieldText(difference)}   (${difference.reason})`),
    ...writes.map(
      ({ method, path, status, durationMs }) => `    ${method} ${path}  ${status || "no response"}  ${durationMs} ms`,
    ),
  ].join("\n");
}
