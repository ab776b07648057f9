/**
 * `npm test`, `npm run test:slow`, `npm run test:release` and `npm run test:all`: set-up where needed, then the checks and
 * tests of the tier, and a summary at the end.
 *
 * | tier | checks | unit | integration | slow, quiet | nodes | release |
 * | --- | --- | --- | --- | --- | --- | --- |
 * | fast, the default | yes | yes | yes | | | |
 * | slow | | | | yes | | |
 * | release | | | | | | yes |
 * | all | yes | yes | yes | yes | where the computer permits it | |
 */
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { provideTools } from "../dev-env/toolchain/progress.ts";
import { commonTools, imageTools, ToolchainError, type ToolName } from "../dev-env/toolchain/toolchain.ts";

interface StepResult {
  readonly name: string;
  readonly isFine: boolean;
  readonly seconds: number;
  readonly counts?: Counts;
  readonly failures?: readonly string[];
}

interface Counts {
  readonly passed: number;
  readonly failed: number;
  readonly skipped: number;
}

/** The part of Vitest's JSON report about one file. */
interface ReportedFile {
  readonly name: string;
  readonly status: string;
  readonly message: string;
  readonly assertionResults: readonly {
    readonly status: string;
    readonly fullName: string;
    readonly failureMessages: readonly string[];
  }[];
}

/** What a test project reports: counts, and one text per failed test for the end of the output, where it is seen. */
interface TestReport {
  readonly counts: Counts;
  readonly failures: readonly string[];
}

interface Tier {
  readonly hasChecks: boolean;
  readonly projects: readonly string[];
  /** Tools of its tests, besides the common ones. They are built first: a build within a test would exceed its time limit. */
  readonly tools: readonly ToolName[];
}

const TIERS: Readonly<Record<string, Tier>> = {
  fast: { hasChecks: true, projects: ["unit", "integration"], tools: ["actionlint"] },
  slow: { hasChecks: false, projects: ["slow", "quiet"], tools: ["minio"] },
  release: { hasChecks: false, projects: ["release"], tools: imageTools },
  all: {
    hasChecks: true,
    projects: ["unit", "integration", "slow", "quiet", "nodes"],
    tools: ["actionlint", "minio"],
  },
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
  if (!(await setUp(tier.tools))) return false;
  const results = tier.hasChecks ? [...(await runChecks())] : [];
  for (const project of tier.projects) results.push(await (project === "nodes" ? testNodes() : test(project)));
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

async function setUp(tools: readonly ToolName[]): Promise<boolean> {
  try {
    await provideTools(process.stdout, [...commonTools, ...tools]);
    return true;
  } catch (error) {
    if (!(error instanceof ToolchainError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return false;
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
  return { name: `${project} tests`, isFine, seconds: secondsSince(started), ...(await readReport(report)) };
}

/** Real nodes: each file has its own Vitest and its own report. Without a report, everything was skipped or failed. */
async function testNodes(): Promise<StepResult> {
  const started = performance.now();
  const folder = join(scratch, "nodes");
  await mkdir(folder);
  const env = { ...process.env, LOTSE_REPORTS: folder };
  const child = spawn("node", ["test/nodes/main.ts"], { stdio: ["ignore", "inherit", "inherit"], env });
  const isFine = (await exitOf(child)) === 0;
  const reports = await Promise.all((await readdir(folder)).map((file) => readReport(join(folder, file))));
  const sum = (field: keyof Counts) => reports.reduce((total, { counts }) => total + counts[field], 0);
  const skipped = isFine && reports.length === 0 ? 1 : sum("skipped");
  const counts = { passed: sum("passed"), failed: sum("failed"), skipped };
  const failures = reports.flatMap((report) => report.failures);
  return { name: "nodes tests", isFine, seconds: secondsSince(started), counts, failures };
}

async function readReport(path: string): Promise<TestReport> {
  try {
    const report = JSON.parse(await readFile(path, "utf8"));
    const { numPassedTests: passed, numFailedTests: failed, numPendingTests: skipped } = report;
    return { counts: { passed, failed, skipped }, failures: report.testResults.flatMap(failuresOfFile) };
  } catch {
    // The runner itself failed, as its exit code says.
    return { counts: { passed: 0, failed: 1, skipped: 0 }, failures: ["the test runner failed, see above"] };
  }
}

function failuresOfFile(file: ReportedFile): readonly string[] {
  const path = relative(process.cwd(), file.name);
  const failed = file.assertionResults.filter(({ status }) => status === "failed");
  if (failed.length === 0) return file.status === "failed" ? [`${path}: ${file.message}`] : [];
  return failed.map(({ fullName, failureMessages }) => `${path}: ${fullName}\n${indent(failureMessages.join("\n"))}`);
}

function indent(text: string): string {
  return text.split("\n").slice(0, 12).join("\n").replace(/^/gm, "    ");
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
  const failures = results.flatMap(({ failures = [] }) => failures);
  if (failures.length > 0) process.stdout.write(`\n${failures.join("\n\n")}\n`);
  process.stdout.write(`\n${results.map(line).join("\n")}\n\n`);
  for (const failure of failures) process.stdout.write(`FAIL ${failure.split("\n", 1)[0]}\n`);
  process.stdout.write(`${sum("passed")} passed, ${sum("failed") + failedChecks} failed, ${sum("skipped")} skipped\n`);
}
