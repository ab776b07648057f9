/** `npm run docs`: writes the generated pages of docs/ from test names and from tables in the code, and code into the others. */
import { globSync, readFileSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { createVitest } from "vitest/node";
import { renderAccountPage } from "./account.ts";
import { renderAnnotationsPage } from "./annotations.ts";
import { renderCommandsPage } from "./commands.ts";
import { renderEventsPage } from "./events.ts";
import { fillExcerpts } from "./excerpts.ts";
import { renderMetricsPage } from "./metrics.ts";
import { renderOptionsPage } from "./options.ts";
import { type NamedTest, renderPage } from "./page.ts";
import { SERVICE_SECTIONS } from "./services-table.ts";
import { SECTIONS } from "./table.ts";

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));

// Tests with the real API server first, then by file.
const real = [...(await listTests("integration")), ...(await listTests("slow"))];
const tests = [...real.toSorted(byFile), ...(await listTests("unit")).toSorted(byFile)];
const generated = {
  "docs/reference/parity-nodes-and-routes.md": renderPage("Nodes and routes", SECTIONS, tests),
  "docs/reference/parity-services.md": renderPage("Services", SERVICE_SECTIONS, tests),
  "docs/reference/annotations.md": renderAnnotationsPage(),
  "docs/reference/account-test.md": renderAccountPage(),
  "docs/reference/commands.md": renderCommandsPage(),
  "docs/reference/options.md": renderOptionsPage(),
  "docs/reference/metrics.md": renderMetricsPage(),
  "docs/reference/events.md": renderEventsPage(),
};
const pages = { ...fillPages(), ...generated };
for (const [name, page] of Object.entries(pages)) {
  const file = new URL(`../../../${name}`, import.meta.url);
  if (!process.argv.includes("--check")) await writeFile(file, page);
  else if ((await readFile(file, "utf8").catch(() => "")) !== page) {
    process.stderr.write(`${name} is out of date: run npm run docs\n`);
    process.exitCode = 1;
  }
}

/** All pages, with the current code of the sources in them. */
function fillPages(): Readonly<Record<string, string>> {
  const names = globSync("docs/**/*.md", { cwd: ROOT });
  const text = (file: string) => readFileSync(join(ROOT, file), "utf8");
  return Object.fromEntries(names.map((name) => [name, fillExcerpts(text(name), text)]));
}

function byFile(a: NamedTest, b: NamedTest): number {
  return a.file.localeCompare(b.file) || a.name.localeCompare(b.name);
}

/** All tests of a project with their full names, including cases of tables, without running them. */
async function listTests(project: string): Promise<readonly NamedTest[]> {
  // Nothing runs, so the files can share what they load.
  const vitest = await createVitest("test", { watch: false, root: ROOT, project, isolate: false });
  try {
    const { testModules, unhandledErrors } = await vitest.collect([], { staticParse: false });
    const failures = [...unhandledErrors, ...testModules.flatMap((module) => module.errors())];
    if (failures.length > 0) throw new Error("tests cannot be listed", { cause: failures[0] });
    // The names in the tests of this tool are examples.
    const proofs = testModules.filter(({ moduleId }) => !moduleId.includes("/test/tools/docs/"));
    return proofs.flatMap((module) =>
      [...module.children.allTests()].map(({ fullName }) => ({
        name: fullName,
        file: relative(ROOT, module.moduleId),
      })),
    );
  } finally {
    await vitest.close();
  }
}
