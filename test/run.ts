/**
 * `npm test`, `npm run test:slow` and `npm run test:all`: set-up where needed, then the checks and tests of the tier,
 * and a summary at the end.
 *
 * | tier | checks | unit | integration | slow |
 * | --- | --- | --- | --- | --- |
 * | fast, the default | yes | yes | yes | |
 * | slow | | | | yes |
 * | all | yes | yes | yes | yes |
 */
import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProgressDisplay } from "../dev-env/toolchain/progress.ts";
import { ensureToolchain, ToolchainError } from "../dev-env/toolchain/toolchain.ts";

interface StepResult {
  readonly name: string;
  readonly isFine: boolean;
  readonly seconds: number;
  readonly counts?: Counts;
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

const TIERS: Readonly<Record<string, { readonly hasChecks: boolean; readonly projects: readonly string[] }>> = {
  fast: { hasChecks: true, projects: ["unit", "integration"] },
  slow: { hasChecks: false, projects: ["slow"] },
  all: { hasChecks: true, projects: ["unit", "integration", "slow"] },
};

const tier = TIERS[process.argv[2] ?? "fast"];
const scratch = await mkdtemp(join(tmpdir(), "lotse-test-"));
try {
  process.exitCode = (await runAll()) ? 0 : 1;
} finally {
  await rm(scratch, { recursive: true, force: true });
}

async function runAll(): Promise<boolean> {
  if (!tier) {
    process.stderr.write(`no such tier: ${process.argv[2]}; choose one of ${Object.keys(TIERS).join(", ")}\n`);
    return false;
  }
  if (!(await setUp())) return false;
  const results = tier.hasChecks ? [...(await runChecks())] : [];
  for (const project of tier.projects) results.push(await test(project));
  summarise(results);
  return results.every(({ isFine }) => isFine);
}

async function runChecks(): Promise<readonly StepResult[]> {
  const checks = await Promise.all([
    check("types", "tsc", "--noEmit"),
    check("lint and format", "biome", "ci", "--error-on-warnings", "."),
    check("dead code", "knip"),
    check("imports", "depcruise", "--config", ".dependency-cruiser.mjs", "controller", "stacks", "dev-env", "test"),
  ]);
  const docs = await check("generated docs", "node", "test/tools/docs/main.ts", "--check");
  const manifests = await check("plain manifests", "node", "dev-env/chart/main.ts", "--check");
  const audit = await check("known weaknesses", "node", "test/tools/audit/main.ts");
  return [...checks, docs, manifests, audit];
}

async function setUp(): Promise<boolean> {
  const display = new ProgressDisplay(process.stdout);
  try {
    await ensureToolchain(undefined, display.report);
    return true;
  } catch (error) {
    if (!(error instanceof ToolchainError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return false;
  } finally {
    display.close();
  }
}

/** Checks print only failures, and why they were skipped. */
async function check(name: string, command: string, ...args: readonly string[]): Promise<StepResult> {
  const started = performance.now();
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (text: string) => {
      output += text;
    });
  }
  const isFine = (await exitOf(child)) === 0;
  if (!isFine || output.startsWith("SKIPPED")) process.stdout.write(`\n${output}\n`);
  const result = { name, isFine, seconds: secondsSince(started) };
  process.stdout.write(`${line(result)}\n`);
  return result;
}

async function test(project: string): Promise<StepResult> {
  const started = performance.now();
  const report = join(scratch, `${project}.json`);
  const args = ["run", "--project", project, "--reporter=default", "--reporter=json", `--outputFile=${report}`];
  const child = spawn("vitest", args, { stdio: ["ignore", "inherit", "inherit"] });
  const isFine = (await exitOf(child)) === 0;
  return { name: `${project} tests`, isFine, seconds: secondsSince(started), counts: await countsOf(report) };
}

async function countsOf(report: string): Promise<Counts> {
  try {
    const result = JSON.parse(await readFile(report, "utf8"));
    const { numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped } = result;
    return { passed, failed, skipped };
  } catch {
    return { passed: 0, failed: 1, skipped: 0 }; // the runner itself failed, as the exit code says
  }
}

function exitOf(child: ReturnType<typeof spawn>): Promise<number | null> {
  return new Promise((resolve, reject) => child.on("error", reject).on("close", resolve));
}

function secondsSince(started: number): number {
  return Math.round((performance.now() - started) / 100) / 10;
}

function line({ name, isFine, seconds, counts }: StepResult): string {
  const details = counts ? `  ${counts.passed} passed, ${counts.failed} failed, ${counts.skipped} skipped` : "";
  return `${isFine ? "ok  " : "FAIL"} ${name.padEnd(18)}${seconds.toFixed(1).padStart(7)} s${details}`;
}

function summarise(results: readonly StepResult[]): void {
  const sum = (field: keyof Counts) => results.reduce((total, { counts }) => total + (counts?.[field] ?? 0), 0);
  const failedChecks = results.filter(({ isFine, counts }) => !isFine && !counts?.failed).length;
  process.stdout.write(`\n${results.map(line).join("\n")}\n\n`);
  process.stdout.write(`${sum("passed")} passed, ${sum("failed") + failedChecks} failed, ${sum("skipped")} skipped\n`);
}
