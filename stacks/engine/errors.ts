/** Engine text → cause and retry verdict. The only place that matches text. */
import type { Failure } from "./run.ts";

/** Errors of the user's making: the same request fails again until the object changes. */
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

/** Errors that are gone in a moment. */
const SOON = new Set(["conflict", "locked", "rate_limit_exceeded", "bad_gateway", "timeout", "unavailable"]);

/** What engine, bridge and provider put around a message, in the order in which it comes off. */
const WRAPPINGS = [
  /^[\s*-]+/,
  /^error: /,
  /^sdk-v2\/[\w.]+:\d+: sdk\.helper_schema: /,
  /: provider=hcloud@[\d.]+$/,
  /^.*urn:pulumi:\S+: /,
];

/** `message (code)` or `message (code, correlation)`, for invalid input with `: [field => [what is wrong]]` behind it. */
const CAUSE = /^(?<message>.+) \((?<code>[a-z][a-z0-9_]+)(?:, [^()]*)?\)(?:: (?<fields>\[.* => .*\]))?$/;

/**
 * The cause in a diagnostic of the engine. The provider's errors are wrapped in the engine's own words, one wrapping per
 * line; only the innermost message is for the user.
 */
export function parseFailure(diagnostic: string): Failure {
  const lines = stripMarkup(diagnostic)
    .split("\n")
    .map((line) => WRAPPINGS.reduce((text, wrapping) => text.replace(wrapping, ""), line).trim())
    .filter((line) => line !== "" && !/^\d+ errors? occurred:?$/.test(line));
  for (const line of lines.toReversed()) {
    const { message = "", code = "", fields } = CAUSE.exec(line)?.groups ?? {};
    if (code !== "") return failureOf(code, fields === undefined ? message : `${message}: ${fieldsInWords(fields)}`);
  }
  return { code: "engine", message: lines.at(-1) ?? "the engine gave no reason", retry: "backoff" };
}

function fieldsInWords(fields: string): string {
  const parts = [...fields.matchAll(/\[?([\w.]+) => \[([^\]]*)\]/g)].map(([, field, wrong]) => `${field}: ${wrong}`);
  return parts.length > 0 ? parts.join("; ") : fields;
}

/** A failure with the retry verdict that its code calls for. */
export function failureOf(code: string, message: string): Failure {
  return { code, message, retry: NEVER.has(code) ? "never" : SOON.has(code) ? "soon" : "backoff" };
}

/** Engine text without its colour directives. */
export function stripMarkup(text: string): string {
  return text.replace(/<\{%[^%]*%\}>/g, "");
}
