/**
 * `npm run test:nodes`: tests with real kubelets, pods and packets. Each file runs in namespaces of its own. Files can be
 * selected by a part of their name: `npm run test:nodes -- traffic`. The test with an ingress controller is left out unless
 * it is selected, or that was built before. With LOTSE_REPORTS, a folder, Vitest writes a report for each file there.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { runInEnclave } from "../../dev-env/nodes/enclave.ts";
import { provideImages } from "../../dev-env/nodes/images/images.ts";
import { missingFor, thisComputer } from "../../dev-env/nodes/requirements.ts";
import { provideNodeTools } from "../../dev-env/nodes/tools.ts";
import { hasTool, ToolchainError } from "../../dev-env/toolchain/toolchain.ts";

/** Files that start demos: not at the same time, because processes in other namespaces cannot see who owns `.lotse/world`. */
const DEMOS = ["demo.test.ts", "tutorial.test.ts"];
/** Needs a program that takes ten minutes to build. */
const INGRESS = "ingress.test.ts";
/** The one that takes longest, which starts first. */
const LONGEST = "operations.test.ts";
const FOLDER = fileURLToPath(new URL(".", import.meta.url));
const missing = missingFor(thisComputer());
if (missing.length > 0) process.stdout.write(`SKIPPED the tests with real nodes: ${missing.join("; ")}\n`);
else process.exitCode = await runFiles(process.argv.slice(2));

async function runFiles(parts: readonly string[]): Promise<number> {
  const all = readdirSync(FOLDER).filter((name) => name.endsWith(".test.ts"));
  const files = all
    .filter((name) => parts.length === 0 || parts.some((part) => name.includes(part)))
    .sort((a, b) => Number(b === LONGEST) - Number(a === LONGEST));
  if (files.length === 0) {
    process.stderr.write(`no file matches ${parts.join(", ")}; choose from ${all.join(", ")}\n`);
    return 1;
  }
  const hasIngress = hasTool("traefik") || (parts.length > 0 && files.includes(INGRESS));
  if (!hasIngress && files.includes(INGRESS)) skipIngress(files);
  const started = performance.now();
  const store = await prepare(hasIngress);
  if (store === undefined) return 1;
  const prepared = performance.now();
  const failed: string[] = [];
  const demos = files.filter((name) => DEMOS.includes(name));
  const others = files.filter((name) => !DEMOS.includes(name));
  const work = async (own: string[]) => {
    for (let file = own.shift() ?? others.shift(); file !== undefined; file = own.shift() ?? others.shift()) {
      const args = ["run", "--project", "nodes", `test/nodes/${file}`, ...reportersFor(file)];
      if ((await runInEnclave("vitest", args, { store })) !== 0) failed.push(file);
    }
  };
  // Tests mostly wait for kubelets and leases, so that two cores carry two worlds.
  await Promise.all([work(demos), work([])]);
  const seconds = (from: number, to: number) => ((to - from) / 1000).toFixed(0);
  process.stdout.write(
    `${files.length - failed.length} files passed, ${failed.length} failed ${failed.join(", ")}\n` +
      `binaries and images ${seconds(started, prepared)} s, tests ${seconds(prepared, performance.now())} s\n`,
  );
  return failed.length === 0 ? 0 : 1;
}

function reportersFor(file: string): readonly string[] {
  const { LOTSE_REPORTS: folder } = process.env;
  return folder ? ["--reporter=default", "--reporter=json", `--outputFile=${join(folder, `${file}.json`)}`] : [];
}

function skipIngress(files: string[]): void {
  files.splice(files.indexOf(INGRESS), 1);
  process.stdout.write(`SKIPPED ${INGRESS}: Traefik is not built; "npm run test:nodes -- ingress" builds it\n`);
}

async function prepare(hasIngress: boolean): Promise<string | undefined> {
  try {
    return await provideImages(await provideNodeTools({ hasIngress }), { hasIngress });
  } catch (error) {
    if (!(error instanceof ToolchainError)) throw error;
    process.stderr.write(`${error.message}\n`);
    return undefined;
  }
}
