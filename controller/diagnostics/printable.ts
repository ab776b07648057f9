/**
 * Texts of others, fit for a terminal: users' objects and the API's answers may hold anything. What a terminal would obey
 * instead of showing it, or would show in another order, is written out as JSON does.
 */

/** Control characters besides tabs and line ends, invisible ones that change how others are shown, and other line ends. */
const OBEYED = /[^\P{Cc}\n\t]|[\p{Cf}\p{Zl}\p{Zp}]/gu;
const LINE_ENDS = /[\n\t]/g;
const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\t": "\\t" };

/** The same text, lines and all. A text of JSON stays what it was. */
export function printable(text: string): string {
  return text.replaceAll(OBEYED, (found) => found.split("").map(written).join(""));
}

/** The same in one line, for a value among others: it cannot look like a line of ours. */
export function oneLine(text: string): string {
  return printable(text).replaceAll(LINE_ENDS, (found) => SHORT[found] ?? found);
}

/** Data with every text in it fit to be put into lines. */
export function forPeople<T>(data: T): T {
  return shown(data) as T;
}

function shown(value: unknown): unknown {
  if (typeof value === "string") return oneLine(value);
  if (Array.isArray(value)) return value.map(shown);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [oneLine(key), shown(inner)]));
}

/** Data as JSON for people and programs. */
export function jsonText(data: unknown): string {
  return `${printable(JSON.stringify(data, undefined, 2))}\n`;
}

function written(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`;
}

/** What a text in JSON holds; nothing when it is null, or no JSON. */
export function parseJson<T>(text: string | undefined): T | undefined {
  try {
    return (JSON.parse(text ?? "null") as T | null) ?? undefined;
  } catch {
    return undefined;
  }
}
