/** Parses error texts of the engine into causes with a retry policy. No other file matches such texts. */
import type { Failure } from "./run.ts";

/** Codes of errors that persist until the object or its permissions change. */
const NEVER = new Set([
  "invalid_input",
  "unsupported_error",
  "invalid_load_balancer_type",
  "cloud_resource_ip_not_allowed",
  "ip_not_owned",
  "protected",
  "forbidden",
  "unauthorized",
]);

/** Codes of transient errors. */
const SOON = new Set(["conflict", "locked", "rate_limit_exceeded", "bad_gateway", "timeout", "unavailable"]);

/** What engine, bridge and provider put around a message, in the order of removal. */
const WRAPPINGS = [
  /^[\s*-]+/,
  /^error: /,
  /^sdk-v2\/[\w.]+:\d+: sdk\.helper_schema: /,
  /: provider=hcloud@[\d.]+$/,
  /^.*urn:pulumi:\S+: /,
];

/** Lines that are no cause: a count, and the locks of a stack below the message that it is locked. */
const NOISE = /^\d+ errors? occurred:?$|: created by \S+ \(pid \d+\) at \S+$/;

/** `message (code)` or `message (code, correlation id)`; for invalid input, `: [field => [reason]]` follows. */
const CAUSE = /^(?<message>.+) \((?<code>[a-z][a-z0-9_]+)(?:, [^()]*)?\)(?:: (?<fields>\[.* => .*\]))?$/;

/**
 * Extracts the cause from a diagnostic of the engine. The engine adds one line of wrapping per layer; only the
 * innermost message is useful to users. `source` is the code of a failure that has none of its own.
 */
export function parseFailure(diagnostic: string, source: "engine" | "plugin" = "engine"): Failure {
  const lines = stripMarkup(diagnostic)
    .split("\n")
    .map((line) => WRAPPINGS.reduce((text, wrapping) => text.replace(wrapping, ""), line).trim())
    .filter((line) => line !== "" && !NOISE.test(line));
  for (const line of lines.toReversed()) {
    const { message = "", code = "", fields } = CAUSE.exec(line)?.groups ?? {};
    if (code !== "") return failureOf(code, fields === undefined ? message : `${message}: ${fieldsInWords(fields)}`);
  }
  return { code: source, message: lines.at(-1) ?? "the engine failed without an error message", retry: "backoff" };
}

function fieldsInWords(fields: string): string {
  const parts = [...fields.matchAll(/\[?([\w.]+) => \[([^\]]*)\]/g)].map(([, field, wrong]) => `${field}: ${wrong}`);
  return parts.length > 0 ? parts.join("; ") : fields;
}

/** A failure with the retry policy of its code. */
export function failureOf(code: string, message: string): Failure {
  return { code, message, retry: NEVER.has(code) ? "never" : SOON.has(code) ? "soon" : "backoff" };
}

/** Removes the colour directives of the engine. */
export function stripMarkup(text: string): string {
  return text.replace(/<\{%[^%]*%\}>/g, "");
}
