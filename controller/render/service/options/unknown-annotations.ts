/** Unknown annotations with our prefix, mostly misspelt. Reported but not rejected: they may be another version's. */
import type { V1ServicePort } from "@kubernetes/client-node";
import type { Note } from "../advice.ts";
import { type Annotations, OPTION_ROWS, PORT_ROWS, PREFIX, UNUSED_ANNOTATIONS } from "./annotations.ts";

const KNOWN: ReadonlySet<string> = new Set([
  ...OPTION_ROWS.map(([, { annotation }]) => annotation),
  ...UNUSED_ANNOTATIONS,
]);
const PER_PORT: ReadonlySet<string> = new Set(PORT_ROWS.map(([, { annotation }]) => annotation));
/** Maximum number in one Event, whose length is limited. */
const MOST = 5;

/** One note for all unknown annotations. */
export function unknownAnnotations(annotations: Annotations, ports: readonly V1ServicePort[]): readonly Note[] {
  const names = new Set(ports.flatMap(({ name, port }) => [String(port), ...(name ? [name] : [])]));
  const unknown = Object.keys(annotations)
    .filter((key) => key.startsWith(PREFIX))
    .map((key) => key.slice(PREFIX.length))
    .filter((key) => !isKnown(key, names));
  if (unknown.length === 0) return [];
  // Only these are compared with all known ones: a Service may have thousands.
  const found = unknown.slice(0, MOST).map((key) => `annotation ${PREFIX}${key} has no effect: ${whyUnknown(key)}`);
  const more = unknown.length > MOST ? [`and ${unknown.length - MOST} more`] : [];
  return [{ reason: "UnknownAnnotation", message: [...found, ...more].join("; ") }];
}

/** Whether an annotation, without our prefix, is an option of a Service or of any port. */
export function isOption(key: string): boolean {
  return KNOWN.has(key) || PER_PORT.has(key.slice(key.indexOf(".") + 1));
}

function isKnown(key: string, ports: ReadonlySet<string>): boolean {
  const dot = key.indexOf(".");
  return KNOWN.has(key) || (dot > 0 && PER_PORT.has(key.slice(dot + 1)) && ports.has(key.slice(0, dot)));
}

function whyUnknown(key: string): string {
  const dot = key.indexOf(".");
  const [port, option] = [key.slice(0, dot), key.slice(dot + 1)];
  if (dot > 0 && PER_PORT.has(option)) return `this Service has no port named ${port}`;
  if (dot > 0 && KNOWN.has(option)) return `${option} cannot be set per port`;
  const near = nearest(dot > 0 ? option : key, dot > 0 ? PER_PORT : KNOWN);
  return near === undefined ? "there is no such annotation" : `did you mean ${dot > 0 ? `${port}.` : ""}${near}?`;
}

/** The known annotation with the smallest edit distance; undefined when none is close enough to be a typo. */
function nearest(text: string, known: ReadonlySet<string>): string | undefined {
  if (text.length > 63) return undefined;
  const [best] = [...known]
    .map((candidate) => ({ candidate, changes: distance(text, candidate) }))
    .toSorted((a, b) => a.changes - b.changes);
  return best && best.changes <= Math.max(1, Math.floor(text.length / 5)) ? best.candidate : undefined;
}

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (const [i, letter] of [...a].entries()) {
    const next = [i + 1];
    for (const [j, other] of [...b].entries()) {
      next.push(Math.min((row[j] ?? 0) + (letter === other ? 0 : 1), (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
