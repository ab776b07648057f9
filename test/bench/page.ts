/** Writes the figures of one run of the benchmark into docs/explanation/performance.md. */
import { readFile, writeFile } from "node:fs/promises";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import type { Result, Scenario } from "./work.ts";

/** A scenario with its results. */
export interface Row {
  readonly scenario: Scenario;
  readonly ours: Result;
  readonly official?: Result;
  /** The target in seconds. */
  readonly targetSeconds?: number;
}

const PAGE = fileURLToPath(new URL("../../docs/explanation/performance.md", import.meta.url));
const BEGIN = "<!-- figures: written by npm run bench -->\n";
const END = "<!-- end of figures -->";

/** Replaces the figures of the page. */
export async function writePage(rows: readonly Row[], official: string): Promise<void> {
  const page = await readFile(PAGE, "utf8");
  const [before = "", rest = ""] = page.split(BEGIN);
  const [, after = ""] = rest.split(END);
  await writeFile(PAGE, `${before}${BEGIN}\n${renderFigures(rows, new Date(), official)}\n${END}${after}`);
}

/** The table, with date and machine. */
function renderFigures(rows: readonly Row[], date: Date, official: string): string {
  const [{ model = "unknown" } = {}] = cpus();
  const table = [
    ["work", official, "Lotse", "target"],
    ["---", "---", "---", "---"],
    ...rows.map(({ scenario, ours, official: theirs, targetSeconds }) => [
      scenario.name,
      theirs ? figuresOf(scenario, theirs) : "–",
      figuresOf(scenario, ours),
      targetOf(scenario, targetSeconds),
    ]),
  ];
  const taken = `Measured on ${date.toISOString().slice(0, 10)}, with ${cpus().length} cores (${model}) and Node ${process.version}.`;
  return `${taken}\n\n${table.map((cells) => `| ${cells.join(" | ")} |`).join("\n")}\n`;
}

function figuresOf({ target }: Scenario, { seconds, calls, memory, cpuMs, apiServerRequests, note }: Result): string {
  const isAtRest = target.cpuMs !== undefined;
  const isLocal = memory.tree === 0;
  const requests = `${calls} ${calls === 1 ? "call" : "calls"}`;
  const time = `${seconds.toFixed(2)} s`;
  if (isLocal) return [time, ...(note ? [note] : [])].join(", ");
  if (!isAtRest) return `${time}, ${requests}, ${memory.tree} MB`;
  const figures = [
    requests,
    `${memory.own} MB, of which ${memory.anonymous} MB are not backed by files`,
    `${cpuMs} ms CPU`,
    ...(apiServerRequests === undefined ? [] : [`${apiServerRequests} requests to the API server`]),
  ];
  return figures.join(", ");
}

function targetOf({ target }: Scenario, seconds: number | undefined): string {
  const { calls, treeMb, cpuMs, apiServerRequests } = target;
  const parts = [
    [seconds && Number(seconds.toFixed(2)), "s"],
    [calls, "calls"],
    [treeMb, "MB"],
    [cpuMs, "ms CPU"],
    [apiServerRequests, "requests to the API server"],
  ];
  return parts.flatMap(([value, unit]) => (value === undefined ? [] : [`${value} ${unit}`])).join(", ");
}
