/**
 * Runs the commands of README, CONTRIBUTING, how-to guides and dev-env, in a terminal with `npm start` and in a second
 * one. The tutorial has a test of its own. test/unit/documents/commands.test.ts checks that no command is forgotten.
 */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Checkout, printed, type Started } from "../support/checkout.ts";
import { commandsOf, isExpected, type Shell } from "../support/console.ts";
import { eventually } from "../support/eventually.ts";
import { sectionOf, shellLines } from "../support/readme.ts";

const READY = "Ctrl-C stops everything";
/** Success, and for commands of `lotse` that something would change. */
const FINE = [0, 2];
/** Sections that run in the second terminal, in this order. A title of the first level is the whole page. */
const SECTIONS = [
  ["README.md", "Preview a change"],
  ["dev-env/examples/README.md", "examples"],
  ["dev-env/demo/README.md", "Use it"],
  ["docs/how-to/preview.md", "What would change right now"],
  ["docs/how-to/preview.md", "Preview more nodes"],
  ["docs/how-to/preview.md", "The same with plain Pulumi"],
  ["docs/reference/outputs.md", "Read them"],
  ["docs/how-to/dns.md", "Get the cluster's stack into your backend"],
  ["docs/how-to/dns.md", "Create the records"],
  ["docs/how-to/migration.md", "Leaving altogether"],
] as const;
/** Their output is a sample, compared by test/integration/approval.test.ts, or depends on the cluster. */
const SAMPLES = /^lotse (preview|release)/;

describe("the documents", () => {
  const ends = new AsyncDisposableStack();
  let checkout: Checkout;
  let demo: Started;
  let shell: Shell;

  beforeAll(async () => {
    checkout = ends.use(new Checkout("current"));
    const [start] = commandsOf(section("README.md", "Try it: two commands"));
    demo = checkout.start(start?.text ?? "");
    await printed(demo, READY);
    shell = ends.use(checkout.shell());
    const [nodes = ""] = /(?<=^```yaml\n).*?(?=^```$)/ms.exec(section(...SECTIONS[4])) ?? [];
    writeFileSync(join(checkout.folder, "nodes.yaml"), nodes);
  });
  afterAll(() => ends.disposeAsync());

  test("README: npm start prints what the page shows", () => {
    const [start] = commandsOf(section("README.md", "Try it: two commands"));
    const seen = new Set(demo.output().split("\n").map(shapeOf));
    const missing = start?.output.filter(
      (line) => !/^\s*…$|^NAME |^(node|service)\//.test(line) && !seen.has(shapeOf(line)),
    );
    expect(missing, demo.output()).toEqual([]);
    expect(demo.output()).not.toMatch(/warning|error/);
  });

  test.each(SECTIONS)("%s: %s", async (page, heading) => {
    const commands = commandsOf(section(page, heading)).filter(({ text }) => !text.startsWith("npm start"));
    const lines = shellLines(section(page, heading)).map((text) => ({ text, output: [] }));
    for (const { text, output } of [...commands, ...lines]) {
      const printedText = await shell.run(text);
      expect(FINE, `$ ${text}\n\n${printedText}`).toContain(shell.status);
      // The page waits five seconds, in which a busy machine need not finish.
      if (text.startsWith("lotse audit"))
        await eventually(async () =>
          expect(await shell.run(text)).toMatch(/applied: update balancer .*algorithm-type$/m),
        );
      if (output.length > 0 && !SAMPLES.test(text)) expect(isExpected(output, printedText), printedText).toBe(true);
    }
  });

  test("npm start: the commands that it suggests", async () => {
    const [hints = ""] = /(?<=Try it from another terminal:\n).*?(?=Ctrl-C)/s.exec(demo.output()) ?? [];
    const commands = hints
      .split("\n")
      .filter((line) => line.startsWith("  "))
      .map((line) => line.replace(/^ +the \w+: +/, ""));
    expect(commands).toHaveLength(6);
    for (const command of commands.map((it) => it.replace("tail -f", "tail"))) {
      const text = await shell.run(command);
      expect(FINE, `$ ${command}\n\n${text}`).toContain(shell.status);
    }
    await printed(demo, "default/web: finalizer removed");
  });

  test.each(
    [
      ...commandsOf(section("dev-env/demo/README.md", "Use it")).map(({ text }) => text),
      ...shellLines(section("dev-env/cloud/README.md", "Use it")),
      ...shellLines(section("CONTRIBUTING.md", "Set up")),
    ].filter((line) => /^npm (start --|run (setup|cloud))/.test(line)),
  )("%s", async (line) => {
    const started = checkout.start(line.replace(/--port \d+/, "--port 0"));
    if (/--help|setup/.test(line)) return expect(await started.ended, started.output()).toBe(0);
    await printed(started, "Ctrl-C stops");
    if (line.includes("--approval")) await printed(started, "for approval: ");
    started.kill("SIGINT");
    await started.ended;
  });
});

function section(page: string, heading: string): string {
  const markdown = readFileSync(page, "utf8");
  return markdown.startsWith(`# ${heading}\n`) ? markdown : sectionOf(markdown, heading);
}

/** A line without numbers and alignment, which differ from start to start. */
function shapeOf(line: string): string {
  return line
    .replaceAll(/[\d.]+/g, "0")
    .replaceAll(/\s+/g, " ")
    .trim();
}
