/** `npm run docs`: writes docs/rows-nodes-and-routes.md from the names of all tests. */
import { readFile, writeFile } from "node:fs/promises";
import { relative } from "node:path";
import { fileURLToPath } from "node:url";
import { createVitest } from "vitest/node";
import { type NamedTest, renderPage } from "./page.ts";
import { SECTIONS } from "./table.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PAGE = new URL("../../docs/rows-nodes-and-routes.md", import.meta.url);

// Proofs against the real API server first, then by file.
const tests = [...(await listTests("integration")).toSorted(byFile), ...(await listTests("unit")).toSorted(byFile)];
const page = renderPage(SECTIONS, tests);
if (process.argv.includes("--check")) {
  const isCurrent = (await readFile(PAGE, "utf8").catch(() => "")) === page;
  if (!isCurrent) process.stderr.write("docs/rows-nodes-and-routes.md is not current: run npm run docs\n");
  process.exitCode = isCurrent ? 0 : 1;
} else {
  await writeFile(PAGE, page);
}

function byFile(a: NamedTest, b: NamedTest): number {
  return a.file.localeCompare(b.file) || a.name.localeCompare(b.name);
}

/** Every test of a project with its full name, cases of tables included, without running any. */
async function listTests(project: string): Promise<readonly NamedTest[]> {
  const vitest = await createVitest("test", { watch: false, root: ROOT, project });
  try {
    const { testModules, unhandledErrors } = await vitest.collect([], { staticParse: false });
    const failures = [...unhandledErrors, ...testModules.flatMap((module) => module.errors())];
    if (failures.length > 0) throw new Error("tests cannot be listed", { cause: failures[0] });
    // Names in our own tests are examples.
    const proofs = testModules.filter(({ moduleId }) => !moduleId.includes("/test/rows/"));
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
