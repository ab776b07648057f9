import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, it } from "vitest";
import { fillExcerpts } from "../../tools/docs/excerpts.ts";
import { bannedIn } from "./banned-phrases.ts";
import { anchorsIn, linksIn, proseOf } from "./markdown.ts";

const PAGES = execFileSync("git", ["ls-files", "-z", "*.md"], { encoding: "utf8" }).split("\0").filter(existsSync);

describe("bannedIn", () => {
  it.each([
    ["Whoever holds the lease writes", "whoever"],
    ["A mistake is told in an Event", "is told"],
    ["The node hears of it", "hears of"],
    ["It is not to be had", "is to be had"],
    ["It does not lead any more", "any more"],
    ["It is not listed any\n  more", "any more"],
    ["It has stood for so long", "for so long"],
    ["The watch is opened anew", "anew"],
    ["Is it well?", "is well"],
    ["It is tried again", "try again"],
    ["A new balancer", "balancer"],
    ["Balancers of Services", "balancer"],
  ])("finds what is wrong with %j", (text, phrase) => {
    expect(bannedIn(text).map((finding) => finding.phrase)).toEqual([phrase]);
  });

  it("names the line and what to write instead", () => {
    expect(bannedIn("fine\nanew\nnobody")).toEqual([
      { phrase: "anew", suggestion: expect.any(String), line: 2 },
      { phrase: "nobody", suggestion: expect.any(String), line: 3 },
    ]);
  });

  it.each([
    "The load balancer is well below its limit",
    "load-balancer addresses",
    "a load\nbalancer",
    "A Service of type LoadBalancer",
    "It is no longer listed",
    "as well.",
  ])("accepts %j", (text) => {
    expect(bannedIn(text)).toEqual([]);
  });
});

describe("proseOf", () => {
  it("keeps lines and leaves code out", () => {
    const page = ["Text `nobody` here", "```console", "balancer", "```", "[x](anew.md) end"].join("\n");
    const prose = proseOf(page);
    expect(prose.split("\n")).toHaveLength(5);
    expect(bannedIn(prose)).toEqual([]);
    expect(prose).toMatch(/Text +here/);
  });
});

describe("every page", () => {
  it.each(PAGES)("%s is free of banned phrases", (page) => {
    const findings = bannedIn(proseOf(readFileSync(page, "utf8")));
    expect(findings.map(({ line, phrase, suggestion }) => `${page}:${line}: "${phrase}": ${suggestion}`)).toEqual([]);
  });

  it.each(PAGES)("%s links to files and headings that exist", (page) => {
    const markdown = readFileSync(page, "utf8");
    const broken = linksIn(markdown).filter(({ path, anchor }) => {
      const target = path === "" ? page : join(dirname(page), path);
      if (!existsSync(target)) return true;
      return anchor !== "" && !anchorsIn(readFileSync(target, "utf8")).has(anchor);
    });
    expect(broken).toEqual([]);
  });
});

it("the threat model names tests that exist as proofs", () => {
  const page = readFileSync("docs/explanation/threat-model.md", "utf8");
  const named = [...page.matchAll(/`((?:unit|integration|chaos|release)\/[\w/-]+)`/g)].map(([, name]) => name);
  expect(named.length).toBeGreaterThan(40);
  const kinds = ["", ".slow", ".quiet"];
  expect(named.filter((name) => !kinds.some((kind) => existsSync(`test/${name}${kind}.test.ts`)))).toEqual([]);
});

describe("excerpts of sources", () => {
  const read = (file: string) => readFileSync(file, "utf8");
  const pages = PAGES.filter((page) => read(page).includes("\n<!-- from "));

  it("are in the tutorial", () => {
    expect(pages.filter((page) => page.startsWith("docs/tutorials/")).length).toBeGreaterThan(4);
  });

  it.each(pages)("in %s are up to date", (page) => {
    expect(read(page), "run npm run docs").toBe(fillExcerpts(read(page), read));
  });

  it.each(pages)("in %s are all the code there is", (page) => {
    const blocks = read(page).match(/^```ts$/gm)?.length ?? 0;
    expect(read(page).match(/^<!-- from .*-->\n+```ts$/gm)).toHaveLength(blocks);
  });
});

it("the page about other clouds names every room of the program", () => {
  const page = readFileSync("docs/explanation/another-cloud.md", "utf8");
  const files = execFileSync("git", ["ls-files", "controller/*/*.ts", "stacks/*/*.ts"], { encoding: "utf8" });
  const rooms = new Set(
    files
      .trim()
      .split("\n")
      .map((file) => file.split("/").slice(0, 2).join("/")),
  );
  rooms.delete("controller/render"); // its rooms are named one by one
  expect([...rooms].filter((room) => !page.includes(`](../../${room})`))).toEqual([]);
});

describe("decisions", () => {
  const pages = PAGES.filter((page) => /^docs\/decisions\/\d/.test(page));
  const index = readFileSync("docs/decisions/README.md", "utf8");

  it.each(pages)("%s names files that exist, and is in the index", (page) => {
    const markdown = readFileSync(page, "utf8");
    const [, files = ""] = /^Date: .*? Files: (.*?)\.$/ms.exec(markdown) ?? [];
    const named = [...files.matchAll(/`([^`]+)`/g)].map(([, file = ""]) => file);
    expect(named).not.toEqual([]);
    expect(named.filter((file) => !existsSync(file))).toEqual([]);
    const title = /^# \d+: (.+)$/m.exec(markdown)?.[1];
    expect(index).toContain(`(${page.slice("docs/decisions/".length)}) | ${title} |`);
  });
});
