/** What is kept of a run: Markdown for people, JSON for programs, JUnit for CI. */
import { endpointOf } from "../../controller/hcloud/exchange.ts";
import type { Exchange } from "./proxy.ts";
import type { StepResult } from "./run.ts";

export interface Report {
  /** ISO 8601. */
  readonly date: string;
  readonly endpoint: string;
  readonly version: string;
  readonly results: readonly StepResult[];
  readonly seconds: number;
  /** Requests by method and endpoint, most frequent first. */
  readonly calls: Readonly<Record<string, number>>;
  /** Where the API and the simulator differ. */
  readonly differences: readonly string[];
  /** What could not be removed; empty means that nothing is left. */
  readonly left: string;
  /** Why the list was not completed. */
  readonly failure?: string;
}

/** Counts requests by method and endpoint. */
export function countCalls(exchanges: readonly Exchange[]): Readonly<Record<string, number>> {
  const keys = exchanges.map(({ method, path }) => `${method} ${endpointOf(path)}`);
  const counts = [...Map.groupBy(keys, (key) => key)].map(([key, all]) => [key, all.length] as const);
  return Object.fromEntries(counts.toSorted(([, a], [, b]) => b - a));
}

/** One line: `31 passed, 0 failed, 2 skipped in 74 s`. */
export function summaryOf(results: readonly StepResult[], seconds: number): string {
  const count = (outcome: StepResult["outcome"]) => results.filter((it) => it.outcome === outcome).length;
  return `${count("passed")} passed, ${count("failed")} failed, ${count("skipped")} skipped in ${Math.round(seconds)} s`;
}

/** The report as a Markdown page. */
export function renderMarkdown(report: Report): string {
  const { results, calls, differences } = report;
  const total = Object.values(calls).reduce((sum, count) => sum + count, 0);
  const steps = results.map(
    ({ id, outcome, seconds, calls: count, title, message }) =>
      `| ${id} | ${outcome} | ${seconds.toFixed(1)} | ${count} | ${cell(message ?? title)} |`,
  );
  return [
    `# Account test of ${report.date}`,
    "",
    `Lotse ${report.version} against ${report.endpoint}: ${summaryOf(results, report.seconds)}.`,
    ...(report.failure === undefined ? [] : ["", `**The list was not completed:** ${report.failure}`]),
    "",
    report.left === "" ? "Afterwards, the project was empty." : `**Left in the project:** ${report.left}`,
    "",
    "## Steps",
    "",
    "| step | outcome | seconds | API calls | what |",
    "| --- | --- | --- | --- | --- |",
    ...steps,
    "",
    `## API calls (${total})`,
    "",
    "| request | count |",
    "| --- | --- |",
    ...Object.entries(calls).map(([key, count]) => `| ${key} | ${count} |`),
    "",
    "## Differences from the simulator",
    "",
    ...(differences.length === 0 ? ["None."] : differences.map((line) => `- ${line}`)),
    "",
  ].join("\n");
}

/** Results as JUnit XML, which CI systems show. */
export function renderJUnit(suite: string, results: readonly StepResult[]): string {
  const count = (outcome: StepResult["outcome"]) => results.filter((it) => it.outcome === outcome).length;
  const time = results.reduce((sum, { seconds }) => sum + seconds, 0).toFixed(1);
  const counts = `tests="${results.length}" failures="${count("failed")}" skipped="${count("skipped")}" time="${time}"`;
  const cases = results.map(({ id, title, outcome, seconds, message = "" }) => {
    const open = `    <testcase classname="${suite}.${id}" name="${xml(title)}" time="${seconds}"`;
    if (outcome === "passed") return `${open}/>`;
    const [first = ""] = message.split("\n");
    const inner =
      outcome === "skipped"
        ? `<skipped message="${xml(first)}"/>`
        : `<failure message="${xml(first)}">${xml(message)}</failure>`;
    return `${open}>${inner}</testcase>`;
  });
  const body = [`  <testsuite name="${suite}" ${counts}>`, ...cases, "  </testsuite>"].join("\n");
  return `<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n${body}\n</testsuites>\n`;
}

function cell(text: string): string {
  return text.replaceAll("|", "\\|").replaceAll("\n", "<br>");
}

/** Escapes text for XML, and drops control characters, which XML cannot contain. */
function xml(text: string): string {
  const escapes: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what must be removed
  return text.replaceAll(/[\0-\x08\x0b\x0c\x0e-\x1f]/g, "").replaceAll(/[&<>"]/g, (char) => escapes[char] ?? char);
}
