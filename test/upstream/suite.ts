/** Runs Kubernetes' own tests against a world, each in a process of its own. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { stringify } from "yaml";
import { IMAGES } from "../../dev-env/nodes/images/images.ts";
import { type Toolchain, thisArchitecture } from "../../dev-env/toolchain/toolchain.ts";
import { parseReport, type TestResult } from "./report.ts";

/** What the tests need. */
export interface SuiteOptions {
  readonly tools: Toolchain;
  readonly kubeconfig: string;
  /** Folder for reports. */
  readonly dir: string;
}

/** A test takes at most this long; most take less than a minute. */
const TIMEOUT = "8m";

/** The names of all tests. */
export async function listTests(options: SuiteOptions): Promise<readonly string[]> {
  const results = await runSuite(options, ["--ginkgo.dry-run", "--ginkgo.focus=.*"], join(options.dir, "list.log"));
  return results.map(({ test }) => test);
}

/** Runs one test. Its output goes to a file. */
export async function runTest(options: SuiteOptions, test: string, logFile: string): Promise<TestResult> {
  // Ginkgo puts the name of the suite before that of the test.
  const focus = `${test.replaceAll(/[^\w\s]/g, "\\$&")}$`;
  const results = await runSuite(options, [`--ginkgo.focus=${focus}`, `--ginkgo.timeout=${TIMEOUT}`], logFile);
  const own = results.find((result) => result.test === test);
  if (own && (own.outcome !== "skipped" || own.message !== "")) return own;
  return { test, outcome: "failed", seconds: 0, message: "did not run: see its log" };
}

async function runSuite(options: SuiteOptions, selection: readonly string[], logFile: string) {
  const { tools, kubeconfig, dir } = options;
  const own = await mkdtemp(join(dir, "run-"));
  const [report, registries] = [join(own, "report.json"), join(own, "registries.yaml")];
  const registry = dirname(IMAGES.agnhost);
  await writeFile(registries, stringify({ promoterE2eRegistry: registry, gcRegistry: registry }));
  const flags = [
    // A cloud that the tests know nothing about.
    "--provider=skeleton",
    `--kubeconfig=${kubeconfig}`,
    `--kubectl-path=${tools.paths.kubectl}`,
    `--node-os-arch=${thisArchitecture}`,
    `--e2e-output-dir=${own}`,
    `--ginkgo.json-report=${report}`,
    "--ginkgo.no-color",
    ...selection,
  ];
  const child = spawn(tools.paths["e2e.test"], flags, {
    cwd: own,
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, KUBE_TEST_REPO_LIST: registries },
  });
  const log = createWriteStream(logFile);
  child.stdout.pipe(log, { end: false });
  child.stderr.pipe(log, { end: false });
  await once(child, "close");
  log.end();
  // Without a report, nothing has run.
  return parseReport(await readFile(report, "utf8").catch(() => "[]"));
}
