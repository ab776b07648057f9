/**
 * Makes untrusted text safe for a terminal. Objects and API responses may contain anything; characters that a terminal would
 * interpret, or that reorder text, are escaped as in JSON.
 */

/** Control characters except tab and line feed, invisible formatting characters, and Unicode line separators. */
const OBEYED = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/gu;

/** The text with unsafe characters escaped; lines are kept. Valid JSON stays equivalent. */
export function printable(text: string): string {
  return text.replaceAll(OBEYED, (found) => found.split("").map(written).join(""));
}

/** The text in one line, so that a value cannot look like a line of our own output. */
export function oneLine(text: string): string {
  return printable(text).replaceAll("\n", "\\n").replaceAll("\t", "\\t");
}

/** Data with every string safe to print in a line. */
export function forPeople<T>(data: T): T {
  return shown(data) as T;
}

function shown(value: unknown): unknown {
  if (typeof value === "string") return oneLine(value);
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [oneLine(key), shown(inner)]));
}

/** Data as indented JSON, safe to print. */
export function jsonText(data: unknown): string {
  return `${printable(JSON.stringify(data, undefined, 2))}\n`;
}

function written(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** The parsed value; undefined for null, an absent text or invalid JSON. */
export function parseJson<T>(text: string | undefined): T | undefined {
  try {
    return (JSON.parse(text ?? "null") as T | null) ?? undefined;
  } catch {
    return undefined;
  }
}
