/** Every command of every document is run by a test, or cannot be. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { blocksOf } from "../../support/readme.ts";

const ACCOUNT = "needs a Hetzner account";

/** The test that runs the commands below a heading. It names the page and, unless it runs the whole page, the heading. */
const RUN_BY: Readonly<Record<string, string>> = {
  "CONTRIBUTING.md # Set up": "test/e2e/documents.slow.test.ts",
  "CONTRIBUTING.md # Debug a run": "test/e2e/demo.test.ts",
  "README.md # Try it: two commands": "test/e2e/documents.slow.test.ts",
  "README.md # Preview a change": "test/e2e/documents.slow.test.ts",
  "README.md # Install on a cluster": "test/integration/install.slow.test.ts",
  "dev-env/demo/README.md # Use it": "test/e2e/documents.slow.test.ts",
  "dev-env/cloud/README.md # Use it": "test/e2e/documents.slow.test.ts",
  "dev-env/examples/README.md # examples": "test/e2e/documents.slow.test.ts",
  "docs/explanation/before-and-after.md": "test/nodes/before-and-after.test.ts",
  "docs/how-to/dns.md # Get the cluster's stack into your backend": "test/e2e/documents.slow.test.ts",
  "docs/how-to/dns.md # Create the records": "test/e2e/documents.slow.test.ts",
  "docs/how-to/migration.md # Load balancers that existed before their Services": "test/integration/adoption.test.ts",
  "docs/how-to/migration.md # Leaving altogether": "test/e2e/documents.slow.test.ts",
  "docs/how-to/command-line.md": "test/integration/package.slow.test.ts",
  "docs/how-to/operations.md # Upgrade and roll back": "test/integration/chart.test.ts",
  "docs/how-to/preview.md # What would change right now": "test/e2e/documents.slow.test.ts",
  "docs/how-to/preview.md # Preview more nodes": "test/e2e/documents.slow.test.ts",
  "docs/how-to/preview.md # The same with plain Pulumi": "test/e2e/documents.slow.test.ts",
  "docs/how-to/preview.md # Approval": "test/integration/approval.test.ts",
  "docs/how-to/preview.md # The record": "test/integration/approval.test.ts",
  "docs/how-to/preview.md # Undo": "test/integration/approval.test.ts",
  "docs/how-to/verify.md # The files": "test/integration/workflows.test.ts",
  "docs/how-to/verify.md # The signatures": "test/release/image.test.ts",
  "docs/how-to/verify.md # The provenance": "test/release/image.test.ts",
  "docs/how-to/verify.md # The bill of materials": "test/release/image.test.ts",
  "docs/how-to/verify.md # The chart": "test/release/image.test.ts",
  "docs/reference/outputs.md # Read them": "test/e2e/documents.slow.test.ts",
  "docs/reference/versioning.md # Make a release": "test/unit/dev-env/release/release.test.ts",
  "docs/tutorials/1-empty-program.md": "test/e2e/tutorial.slow.test.ts",
  "docs/tutorials/2-development-environment.md": "test/e2e/tutorial.slow.test.ts",
  "docs/tutorials/2-development-environment.md # With real nodes": "test/nodes/tutorial.test.ts",
  "docs/tutorials/3-nodes.md": "test/e2e/tutorial.slow.test.ts",
  "docs/tutorials/3-nodes.md # With real nodes": "test/nodes/tutorial.test.ts",
  "docs/tutorials/4-services.md": "test/e2e/tutorial.slow.test.ts",
  "docs/tutorials/4-services.md # With real nodes": "test/nodes/tutorial.test.ts",
  "docs/tutorials/5-routes.md": "test/e2e/tutorial.slow.test.ts",
  "docs/tutorials/5-routes.md # With real nodes": "test/nodes/tutorial.test.ts",
};

/** Why commands are not run: all below a heading, or one of them. */
const NOT_RUN: Readonly<Record<string, string>> = {
  "CONTRIBUTING.md # Set up # npm run check": "runs the unit tests, of which this is one",
  "README.md # Try it: two commands # npm test": "runs the test that would run it",
  "docs/how-to/account-test.md # On an account": `${ACCOUNT}; test/integration/account.slow.test.ts runs them on the simulator`,
  "docs/how-to/account-test.md # In a cluster":
    "needs a cluster of the reader's own; test/integration/acceptance.slow.test.ts runs them on a local one",
  "docs/how-to/development-environment.md": ACCOUNT,
  "docs/how-to/command-line.md # With krew # kubectl krew":
    "needs krew; the test unpacks and links what the manifest says",
  "docs/how-to/operations.md # Upgrade and roll back # kubectl -n kube-system rollout": "waits for a kubelet",
  "docs/how-to/preview.md # Gate a pull request": "reads an overlay of the reader's own",
  "docs/explanation/performance.md": "takes half an hour, and needs a binary of the official controller",
  "docs/how-to/verify.md # The provenance # gh attestation": "needs GitHub",
  "docs/tutorials/2-development-environment.md # Build it": ACCOUNT,
  "docs/tutorials/4-services.md # An ingress # npm start":
    "builds Traefik first, for ten minutes; test/nodes/ingress.test.ts sends requests through it",
  "docs/tutorials/4-services.md # An ingress": ACCOUNT,
};

const PAGES = execFileSync("git", ["ls-files", "-z", "*.md"], { encoding: "utf8" }).split("\0").filter(existsSync);
const BLOCKS = PAGES.flatMap((page) => blocksOf(readFileSync(page, "utf8")).map((block) => ({ page, ...block })));
const COMMANDS = BLOCKS.flatMap(({ page, heading, commands }) =>
  commands.map((command) => ({ command, keys: [`${page} # ${heading} # ${command}`, `${page} # ${heading}`, page] })),
);

/** The entry for a command. One for a single command may be its beginning. */
function entryFor(keys: readonly string[], table: Readonly<Record<string, string>>): string | undefined {
  const [full = ""] = keys;
  return Object.keys(table).find(
    (key) => keys.includes(key) || (key.split(" # ").length === 3 && full.startsWith(key)),
  );
}

describe("the commands of the documents", () => {
  it("are many", () => {
    expect(COMMANDS.length).toBeGreaterThan(80);
  });

  it.each(COMMANDS)("$keys.1: $command: is run by a test, or a reason says why not", ({ keys }) => {
    expect(entryFor(keys, NOT_RUN) ?? entryFor(keys, RUN_BY), "run by no test").toBeDefined();
  });

  it.each(Object.entries(RUN_BY))("%s is read by %s", (key, test) => {
    const [page = "", heading = ""] = key.split(" # ");
    const name = page.startsWith("docs/tutorials/") ? page.slice("docs/tutorials/".length, -".md".length) : page;
    const source = readFileSync(test, "utf8");
    expect(source).toContain(name);
    expect(source).toContain(heading);
  });

  it.each(Object.keys({ ...RUN_BY, ...NOT_RUN }))("the entry %s is needed", (key) => {
    expect(COMMANDS.some(({ keys }) => entryFor(keys, { [key]: "" }))).toBe(true);
  });

  it("need no quotes in zsh, the shell of macOS, which rejects patterns that match no file", () => {
    const unquoted = COMMANDS.map(({ command }) => command.replaceAll(/'[^']*'|"[^"]*"/g, ""));
    expect(unquoted.filter((command) => /\S\[|[*]/.test(command))).toEqual([]);
  });

  it("are in blocks that tests recognise", () => {
    const others = BLOCKS.filter(
      ({ language }) => !["sh", "console", "ts", "yaml", "mermaid", "json", "text", ""].includes(language),
    );
    expect(others.map(({ page, heading, language }) => `${page} # ${heading}: ${language}`)).toEqual([]);
  });
});
