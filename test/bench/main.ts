/** `npm run bench`: runs the scenarios, and prints the results as a table and as JSON. */
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import { officialStarter, startOurs } from "./controllers.ts";
import { measurePages } from "./pages.ts";
import { SCENARIOS, type Scenario } from "./scenarios.ts";
import type { Result } from "./work.ts";

interface Options {
  readonly only?: string;
  readonly long?: boolean;
  readonly json?: string;
  readonly official?: string;
  readonly officialWorkers: string;
}

/** One line of the table. */
interface Row {
  readonly scenario: Scenario;
  readonly ours: Result;
  readonly official?: Result;
  /** The target of the scenario, in seconds. */
  readonly targetSeconds?: number;
}

const options = new Command("bench")
  .option("--only <text>", "only scenarios whose name contains this")
  .option("--long", "also the long ones")
  .option("--json <file>", "write the results to a file")
  .option("--official <binary>", "measure the official controller beside ours")
  .option("--official-workers <n>", "Services that the official controller works on at once", "1")
  .parse()
  .opts<Options>();

/** Memory limit of the controller's own process, for every scenario. */
const OWN_MB = 130;
const WIDTHS: readonly number[] = [12, 9, 8, 9, 8, 24, 9, 30];
const columns = ["time", "target", "floor", "calls", "target", "own / tree", "target", "official"];
if (!options.only || options.only === "pages") await printPages();
process.stdout.write(`${line("work", columns)}\n`);
const rows: Row[] = [];
for (const scenario of SCENARIOS.filter(isChosen)) {
  const ours = await scenario.run(startOurs);
  const official = await measureOfficial(scenario);
  const targetSeconds = secondsWanted(scenario, rows);
  const row = { scenario, ours, ...(official && { official }), ...(targetSeconds !== undefined && { targetSeconds }) };
  rows.push(row);
  process.stdout.write(`${text(row)}\n`);
}
const plain = rows.map(({ scenario: { name, target, floorSeconds }, ours, official, targetSeconds }) => ({
  name,
  ...ours,
  target: { ...target, seconds: targetSeconds },
  floorSeconds,
  official,
}));
if (options.json) await writeFile(options.json, `${JSON.stringify(plain, null, 2)}\n`);

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
  const { seconds, calls, memory, note } = ours;
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
  return line(name, cells) + (note ? `\n  ${note}` : "");
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
