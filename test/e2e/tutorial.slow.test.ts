/** Runs every command of the tutorial, and compares its output with the page. */
import { mkdir, mkdtemp, readFile, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { startLocal } from "../../dev-env/demo/local.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import { commandsOf, isExpected, Shell } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const PAGES = ["2-development-environment", "3-nodes", "4-services", "5-routes"];
/** Read-only commands, which are repeated until they print the expected output. */
const READ_ONLY = /^(kubectl get|lotse preview|curl --silent --header|curl --silent --max-time)/;
/** Longer than the interval of drift detection, which is one minute. */
const PATIENCE = { timeoutMs: 90_000, intervalMs: 500 };

describe("the tutorial", () => {
  const ends = new AsyncDisposableStack();
  let shell: Shell;

  beforeAll(async () => {
    const tools = await ensureToolchain(["pulumi", "pulumi-resource-hcloud", "etcd", "kube-apiserver", "kubectl"]);
    const folder = await mkdtemp(join(tmpdir(), "lotse-tutorial-"));
    ends.defer(() => rm(folder, { recursive: true, force: true }));
    await mkdir(join(folder, ".lotse"));
    await symlink(join(ROOT, "dev-env"), join(folder, "dev-env"));
    const cloud = { dataPlane: { timeScale: 0.1 } };
    await startLocal({ tools, envFile: join(folder, ".lotse", "env"), cloud, say: () => {} }, ends);
    shell = ends.use(new Shell(folder));
  });
  afterAll(() => ends.disposeAsync());

  test.each(PAGES)("%s", { timeout: 300_000 }, async (page) => {
    const commands = commandsOf(await readFile(join(ROOT, "docs", "tutorials", `${page}.md`), "utf8"));
    expect(commands).not.toEqual([]);
    for (const { text, output } of commands) {
      const check = async () => {
        const printed = await shell.run(text);
        if (output.length > 0 && !isExpected(output, printed)) {
          throw new Error(`$ ${text}\n\nprints\n\n${printed}\nnot\n\n${output.join("\n")}`);
        }
      };
      await (READ_ONLY.test(text) ? eventually(check, PATIENCE) : check());
    }
  });
});
