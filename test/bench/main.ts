/** `npm run bench`: runs the scenarios and prints a table, and the same as JSON. */
import { writeFile } from "node:fs/promises";
import { Command } from "commander";
import { measurePages } from "./pages.ts";
import { type ControllerStarter, type Result, SCENARIOS, type Scenario } from "./scenarios.ts";

const program = new Command("bench")
  .option("--only <text>", "only scenarios whose name contains this")
  .option("--long", "also the long ones")
  .option("--json <file>", "write the results to a file");
const options = program.parse().opts<{ only?: string; long?: boolean; json?: string }>();

/** As shipped, without the short resync that tests use. */
const ours: ControllerStarter = (world) => world.startController(["--resync=60"]).pid;

if (!options.only || options.only === "pages") {
  for (const { name, p50, p99 } of await measurePages()) {
    process.stdout.write(
      `simulator, a page of ${name.padEnd(36)} p50 ${p50.toFixed(1)} ms   p99 ${p99.toFixed(1)} ms${mark(p99, 20)}\n`,
    );
  }
  process.stdout.write("\n");
}
const chosen = SCENARIOS.filter(({ name, isLong }) =>
  options.only ? name.includes(options.only) : options.long || !isLong,
);
const results: { name: string; result: Result; scenario: Scenario }[] = [];
process.stdout.write(`${row("scenario", "time", "target", "floor", "calls", "target", "memory")}\n`);
for (const scenario of chosen) {
  const result = await scenario.run(ours);
  results.push({ name: scenario.name, result, scenario });
  process.stdout.write(`${line(scenario, result)}\n`);
}
if (options.json) {
  const plain = results.map(({ name, result, scenario: { target, floorSeconds } }) => ({
    name,
    ...result,
    target,
    floorSeconds,
  }));
  await writeFile(options.json, `${JSON.stringify(plain, null, 2)}\n`);
}

function line({ name, target, floorSeconds }: Scenario, { seconds, calls, memory }: Result): string {
  return row(
    name,
    `${seconds.toFixed(2)} s${mark(seconds, target.seconds)}`,
    target.seconds ? `${target.seconds} s` : "",
    floorSeconds ? `${floorSeconds.toFixed(1)} s` : "",
    `${calls}${mark(calls, target.calls)}`,
    target.calls ? String(target.calls) : "",
    `${memory.own} / ${memory.tree} MB`,
  );
}

function mark(value: number, most: number | undefined): string {
  return most === undefined ? "" : value <= most ? " ok" : " !!";
}

function row(name: string, ...cells: readonly string[]): string {
  return `${name.padEnd(50)}${cells.map((cell) => cell.padStart(12)).join("")}`;
}
