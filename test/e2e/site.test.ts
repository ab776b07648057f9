/** The site of this repository, as `npm run site` builds it. */
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createContext, runInContext } from "node:vm";
import type MiniSearch from "minisearch";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { deadLinks } from "../../dev-env/site/links.ts";
import { buildSite, type Page } from "../../dev-env/site/site.ts";

/** What the scripts define in a browser. */
interface Browser {
  readonly MiniSearch: typeof MiniSearch;
  readonly SEARCH: { readonly index: string; readonly options: Parameters<typeof MiniSearch.loadJSON>[1] };
}

describe("the site of this repository", () => {
  let pages: readonly Page[] = [];
  let folder = "";
  const read = (path: string) => readFile(join(folder, path), "utf8");
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "lotse-site-"));
    pages = await buildSite(process.cwd(), folder);
  });
  afterAll(() => rm(folder, { recursive: true }));

  it("has a page for every document, and no dead links", async () => {
    const sources = pages.map(({ source }) => source);
    expect(sources).toEqual(
      expect.arrayContaining(["docs/README.md", "docs/tutorials/1-empty-program.md", "README.md"]),
    );
    expect(sources.filter((source) => /^docs\/.*\.md$/.test(source)).length).toBeGreaterThan(60);
    expect(await deadLinks(folder)).toEqual([]);
  });

  it("lists the pages of docs/README.md in the navigation, and marks the current one", async () => {
    const page = await read("tutorials/3-nodes.html");
    expect(page).toContain('<a href="3-nodes.html" aria-current="page">Nodes</a>');
    expect(page).toContain('<a href="../reference/options.html">Options of lotse run</a>');
    expect(page.match(/aria-current/g)).toHaveLength(1);
  });

  it("links an excerpt to its source, which has a page, too", async () => {
    expect(await read("tutorials/1-empty-program.html")).toContain(
      '<p class="source"><a href="../repository/controller/commands/run.ts.html">controller/commands/run.ts</a></p>',
    );
    expect(await read("repository/controller/commands/run.ts.html")).toContain('<span class="keyword">export</span>');
  });

  it.each([
    ["load balancer type", "reference/annotations.html"],
    ["uninitialized taint", "tutorials/"],
    ["empty program", "tutorials/1-empty-program.html"],
    ["load balancr annotat", "reference/annotations.html"],
    ["proxy", "how-to/operations.html"],
  ])("the search for %j finds %s among the first results", async (query, path) => {
    const window: Partial<Browser> = {};
    const context = createContext(Object.assign(window, { window, self: window, globalThis: window }));
    for (const script of ["minisearch.js", "search-index.js"]) runInContext(await read(script), context);
    const { MiniSearch: Search, SEARCH } = window as Browser;
    const found = Search.loadJSON(SEARCH.index, SEARCH.options).search(query);
    expect(found.slice(0, 8).map(({ href }) => href as string)).toContainEqual(expect.stringContaining(path));
  });
});
