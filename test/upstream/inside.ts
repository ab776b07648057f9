/** `npm run test:upstream`, inside the namespaces of its world: starts everything, runs the tests, and writes the page. */
import { mkdir, mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { installChart } from "../../dev-env/nodes/chart.ts";
import { provideNodeTools } from "../../dev-env/nodes/tools.ts";
import { startWorld, type World } from "../../dev-env/nodes/world.ts";
import { loadTools, type Toolchain } from "../../dev-env/toolchain/toolchain.ts";
import { eventually } from "../support/eventually.ts";
import { deviationsIn, renderUpstreamPage, titleOf, type Verdict } from "./page.ts";
import { exceptionFor, isSelected } from "./selection.ts";
import { listTests, runTest, type SuiteOptions } from "./suite.ts";

const PAGE = fileURLToPath(new URL("../../docs/reference/upstream-tests.md", import.meta.url));
const LOGS = fileURLToPath(new URL("../../.lotse/upstream", import.meta.url));
/** Tests mostly wait. */
const AT_ONCE = 4;
const PATIENCE = { timeoutMs: 120_000, intervalMs: 500 };
const parts = process.argv.slice(2);
// The first process of a world gets only signals that it handles.
for (const signal of ["SIGINT", "SIGTERM"] as const) process.on(signal, () => process.exit(1));

try {
  process.exitCode = await runAll();
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.stack : error}\n`);
  process.exitCode = 1;
}
// Ends everything in the world, because this is the first process in it.
process.exit();

async function runAll(): Promise<number> {
  const tools = await provideNodeTools({ hasUpstream: true });
  const world = await startReadyWorld(tools);
  const dir = await mkdtemp(join(tmpdir(), "upstream-"));
  const options = { tools, kubeconfig: world.cluster.kubeconfig, dir };
  const selected = (await listTests(options))
    .filter((test) => (parts.length === 0 ? isSelected(test) : parts.some((part) => test.includes(part))))
    .sort();
  if (selected.length === 0) throw new Error("no test is selected");
  const verdicts = await runTests(options, selected);
  await writeFile(join(LOGS, "results.json"), JSON.stringify(verdicts, null, 2));
  const version = loadTools("linux-x64")["e2e.test"].version;
  const today = new Date().toISOString().slice(0, 10);
  if (parts.length === 0) await writeFile(PAGE, renderUpstreamPage(verdicts, version, today));
  const deviations = deviationsIn(verdicts);
  for (const line of deviations) process.stderr.write(`${line}\n`);
  const passed = verdicts.filter(({ outcome }) => outcome === "passed").length;
  process.stdout.write(`${passed} of ${verdicts.length} tests passed, ${deviations.length} unexplained\n`);
  return deviations.length === 0 ? 0 : 1;
}

/** A world whose load balancers need no annotations, with the controller running and all Nodes ready for pods. */
async function startReadyWorld(tools: Toolchain): Promise<World> {
  const world = await startWorld({ tools });
  const env = {
    HCLOUD_ENDPOINT: { value: world.cloud.url },
    HCLOUD_LOAD_BALANCERS_LOCATION: { value: "fsn1" },
    HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: { value: "true" },
  };
  await installChart(world, { env });
  const system = "--namespace=kube-system";
  await eventually(() => world.kubectl("rollout", "status", "deployment/lotse", system, "--timeout=60s"), PATIENCE);
  await eventually(() => world.kubectl("rollout", "status", "deployment/coredns", system, "--timeout=60s"), PATIENCE);
  process.stdout.write("the world is ready\n");
  return world;
}

/** Runs tests, several at once, and reports each as it ends. Tests that are selected by name run in any case. */
async function runTests(options: SuiteOptions, tests: readonly string[]): Promise<readonly Verdict[]> {
  await mkdir(LOGS, { recursive: true });
  const isLeftOut = (test: string) => parts.length === 0 && exceptionFor(test)?.outcome === "left out";
  const queue = tests.filter((test) => !isLeftOut(test));
  const verdicts: Verdict[] = tests
    .filter(isLeftOut)
    .map((test) => ({ test, outcome: "left out", seconds: 0, message: "" }));
  const work = async () => {
    for (let test = queue.shift(); test !== undefined; test = queue.shift()) {
      const logFile = join(LOGS, `${titleOf(test).replaceAll(/\W+/g, "-").slice(0, 100)}.log`);
      const result = await runTest(options, test, logFile);
      verdicts.push(result);
      const where = result.outcome === "passed" ? "" : ` (${relative(process.cwd(), logFile)})`;
      process.stdout.write(`${result.outcome} ${result.seconds.toFixed(0)} s: ${titleOf(test)}${where}\n`);
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return verdicts;
}
