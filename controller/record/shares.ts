/** Which entries of the record are kept when there is not enough room for all. Pure. */
import { parseJson } from "../diagnostics/printable.ts";
import type { AuditEntry } from "./entry.ts";

/** The lines of one unit, oldest first. */
interface Share {
  readonly lines: Line[];
  bytes: number;
}

interface Line {
  readonly text: string;
  readonly bytes: number;
  isKept: boolean;
}

/**
 * The whole lines that fit into `maxBytes`. Room is shared by namespaces, and within a namespace by units: the largest
 * loses its oldest line first, so that none can drive out the entries of others.
 */
export function keepShares(text: string, maxBytes: number): string {
  let excess = Buffer.byteLength(text) - maxBytes;
  if (excess <= 0) return text;
  const lines = text.split(/(?<=\n)/).map((line) => ({ text: line, bytes: Buffer.byteLength(line), isKept: true }));
  const namespaces = Map.groupBy(sharesOf(lines), ([unit]) => namespaceOf(unit));
  const shares = [...namespaces.values()].map((units) => units.map(([, share]) => share));
  while (excess > 0) {
    const largest = maxBy(shares, (units) => units.reduce((sum, { bytes }) => sum + bytes, 0));
    const share = maxBy(largest ?? [], ({ bytes }) => bytes);
    const line = share?.lines.shift();
    if (!share || !line) break;
    line.isKept = false;
    share.bytes -= line.bytes;
    excess -= line.bytes;
  }
  return lines.flatMap(({ text: kept, isKept }) => (isKept ? [kept] : [])).join("");
}

function sharesOf(lines: readonly Line[]): readonly (readonly [unit: string, Share])[] {
  const units = Map.groupBy(lines, ({ text }) => parseJson<AuditEntry>(text)?.unit ?? "");
  return [...units].map(([unit, own]) => [
    unit,
    { lines: [...own], bytes: own.reduce((sum, { bytes }) => sum + bytes, 0) },
  ]);
}

/** The namespace of a Service's unit. Routes share one place, which no namespace has. */
function namespaceOf(unit: string): string {
  return unit.startsWith("route/") ? "route/" : (unit.split("/")[1] ?? "");
}

function maxBy<T>(items: readonly T[], size: (item: T) => number): T | undefined {
  return items.reduce<T | undefined>(
    (best, item) => (best === undefined || size(item) > size(best) ? item : best),
    undefined,
  );
}
