/** `npm run bench`: runs the scenarios, and prints the results as a table and as JSON. */
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import { officialStarter, startOurs } from "./controllers.ts";
import { type Row, writePage } from "./page.ts";
import { measurePages } from "./pages.ts";
import { measureRender } from "./render.ts";
import { SCENARIOS } from "./scenarios.ts";
import type { Result, Scenario } from "./work.ts";

interface Options {
  readonly only?: string;
  readonly long?: boolean;
  readonly json?: string;
  readonly official?: string;
  readonly page?: string;
  readonly officialWorkers: string;
}

const options = new Command("bench")
  .option("--only <text>", "only scenarios whose name contains this")
  .option("--long", "also the long ones")
  .option("--json <file>", "write the results to a file")
  .option(
    "--page <name>",
    "write the results to docs/explanation/performance.md, with this name for the official controller",
  )
  .option("--official <binary>", "measure the official controller beside ours")
  .option("--official-workers <n>", "Services that the official controller works on at once", "1")
  .parse()
  .opts<Options>();

/** Memory limit of the controller's own process, for every scenario. */
const OWN_MB = 90;
const WIDTHS: readonly number[] = [12, 9, 8, 9, 8, 24, 9, 30];
const columns = ["time", "target", "floor", "calls", "target", "own / tree", "target", "official"];
if (!options.only || options.only === "pages") await printPages();
if (!options.only || options.only === "render") await printRender();
process.stdout.write(`${line("work", columns)}\n`);
const rows: Row[] = [];
for (const scenario of SCENARIOS.filter(isChosen)) {
  const ours = await scenario.run(startOurs);
  const official = await measureOfficial(scenario);
  const targetSeconds = secondsWanted(scenario, rows);
  const row = { scenario, ours, ...(official && { official }), ...(targetSeconds !== undefined && { targetSeconds }) };
  rows.push(row);
  process.stdout.write(`${text(row)}\n`);
  await save();
}

/** After every row: a run takes long, and the last scenario may fail. */
async function save(): Promise<void> {
  const plain = rows.map(({ scenario: { name, target, floorSeconds }, ours, official, targetSeconds }) => ({
    name,
    ...ours,
    target: { ...target, seconds: targetSeconds },
    floorSeconds,
    official,
  }));
  if (options.page) await writePage(rows, options.page);
  if (options.json) await writeFile(options.json, `${JSON.stringify(plain, null, 2)}\n`);
}

function isChosen({ name, isLong }: Scenario): boolean {
  return options.only ? name.includes(options.only) : options.long || !isLong;
}

async function measureOfficial(scenario: Scenario): Promise<Result | undefined> {
  if (!options.official || !scenario.isComparable) return undefined;
  return scenario.run(officialStarter(options.official, Number(options.officialWorkers)));
}

/** A target in seconds; one that depends on another scenario is undefined if that was not measured. */
function secondsWanted({ target: { seconds, times } }: Scenario, before: readonly Row[]): number | undefined {
  if (!times) return seconds;
  const reference = before.find(({ scenario }) => scenario.name === times.of);
  return reference && reference.ours.seconds * times.factor;
}

function text({ scenario: { name, target, floorSeconds }, ours, official, targetSeconds }: Row): string {
  const { seconds, calls, memory, cpuMs, apiServerRequests, note } = ours;
  const cells = [
    `${seconds.toFixed(2)} s${mark(seconds, targetSeconds)}`,
    targetSeconds === undefined ? "" : `${targetSeconds.toFixed(1)} s`,
    floorSeconds === undefined ? "" : `${floorSeconds.toFixed(1)} s`,
    `${calls}${mark(calls, target.calls)}`,
    String(target.calls ?? ""),
    `${memory.own}${mark(memory.own, OWN_MB)} / ${memory.tree} MB${mark(memory.tree, target.treeMb)}`,
    target.treeMb === undefined ? "" : `${target.treeMb} MB`,
    official ? `${official.seconds.toFixed(2)} s, ${official.calls} calls, ${official.memory.tree} MB` : "",
  ];
  const notes = [
    ...(apiServerRequests === undefined ? [] : [`${cpuMs} ms CPU, ${apiServerRequests} requests to the API server`]),
    ...(note ? [note] : []),
  ];
  return [line(name, cells), ...notes.map((it) => `  ${it}`)].join("\n");
}

function mark(value: number, most: number | undefined): string {
  return most === undefined ? "" : value <= most ? " ok" : " !!";
}

function line(name: string, cells: readonly string[]): string {
  return `${name.padEnd(58)}${cells.map((cell, index) => cell.padStart(WIDTHS[index] ?? 12)).join("")}`.trimEnd();
}

async function printPages(): Promise<void> {
  for (const { name, p50, p99 } of await measurePages()) {
    process.stdout.write(
      `simulator, a page of ${name.padEnd(36)} p50 ${p50.toFixed(1)} ms   p99 ${p99.toFixed(1)} ms${mark(p99, 20)}\n`,
    );
  }
  process.stdout.write("\n");
}

async function printRender(): Promise<void> {
  for (const { name, step, whole } of await measureRender()) {
    const figures = `first time: longest step ${step.toFixed(0)} ms${mark(step, 50)}   later: ${whole.toFixed(0)} ms${mark(whole, 150)}`;
    process.stdout.write(`render and plan ${name.padEnd(36)} ${figures}\n`);
  }
  process.stdout.write("\n");
}
