/** The static site: the pages of docs/, and every file of the repository that they link to. */
import { existsSync, globSync } from "node:fs";
import { cp, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join, posix } from "node:path";
import { fileURLToPath } from "node:url";
import { type Chapter, readNavigation, renderLayout } from "./layout.ts";
import { escapeHtml, highlight, type RenderedPage, renderMarkdown } from "./markdown.ts";
import { renderSearchIndex } from "./search.ts";

/** A page of the site. */
export interface Page extends RenderedPage {
  /** The file or folder that it shows, relative to the repository. */
  readonly source: string;
  /** Where it is in the site. */
  readonly path: string;
}

const ASSETS = ["style.css", "search.js"];
const MINISEARCH = createRequire(import.meta.url)
  .resolve("minisearch")
  .replace(/\/dist\/.*/, "/dist/umd/index.js");

/** Builds the site of the repository in a folder, which is replaced. Links work from a web server and from a disk. */
export async function buildSite(root: string, folder: string): Promise<readonly Page[]> {
  const pages = await readPages(root);
  const chapters = readNavigation(await readFile(join(root, "docs/README.md"), "utf8"));
  await rm(folder, { recursive: true, force: true });
  const navigation = placed(chapters);
  await Promise.all(pages.map((page) => write(folder, page.path, renderLayout(page, navigation))));
  await write(folder, "search-index.js", renderSearchIndex(pages));
  for (const name of ASSETS) await cp(fileURLToPath(new URL(name, import.meta.url)), join(folder, name));
  await cp(MINISEARCH, join(folder, "minisearch.js"));
  return pages;
}

/** Follows the links of the pages, so that every file that is linked has a page. */
async function readPages(root: string): Promise<readonly Page[]> {
  const sources = new Set(globSync("docs/**/*.md", { cwd: root }).toSorted());
  const pages: Page[] = [];
  // The set grows while it is read.
  for (const source of sources) {
    const path = pathOf(source);
    const link = (target: string): string => {
      const found = resolveFile(root, source, target);
      if (found === undefined) return target;
      sources.add(found);
      return posix.relative(posix.dirname(path), pathOf(found));
    };
    pages.push({ source, path, ...(await renderSource(root, source, link)) });
  }
  return pages;
}

/** The file or folder that a link means; undefined when it does not exist, which is then found as a dead link. */
function resolveFile(root: string, source: string, target: string): string | undefined {
  const file = target.startsWith("/") ? target.slice(1) : posix.join(posix.dirname(source), target);
  const readme = posix.join(file, "README.md");
  if (existsSync(join(root, readme))) return readme;
  return !file.startsWith("..") && existsSync(join(root, file)) ? file.replace(/\/$/, "") : undefined;
}

/** Pages of docs/ are at the top, everything else is below repository/. */
function pathOf(source: string): string {
  const place = source.startsWith("docs/") ? source.slice("docs/".length) : `repository/${source}`;
  if (place.endsWith("README.md")) return place.replace(/README\.md$/, "index.html");
  return place.endsWith(".md") ? place.replace(/\.md$/, ".html") : `${place}.html`;
}

async function renderSource(root: string, source: string, link: (target: string) => string): Promise<RenderedPage> {
  const file = join(root, source);
  if ((await stat(file)).isDirectory()) {
    const entries = (await readdir(file, { withFileTypes: true })).filter((entry) => entry.isFile());
    const names = entries.map(({ name }) => name).toSorted();
    const items = names.map((name) => `<li><a href="${link(`/${source}/${name}`)}">${name}</a></li>`);
    return { title: source, html: `<h1>${source}</h1>\n<ul>${items.join("\n")}</ul>`, sections: [] };
  }
  const text = await readFile(file, "utf8");
  if (source.endsWith(".md")) return renderMarkdown(text, link);
  const code = highlight(text, posix.extname(source).slice(1));
  return { title: source, html: `<h1>${escapeHtml(source)}</h1>\n<pre><code>${code}</code></pre>`, sections: [] };
}

function placed(chapters: readonly Chapter[]): readonly Chapter[] {
  const inSite = (href: string) => pathOf(posix.join("docs", href));
  return chapters.map(({ title, links }) => ({
    title,
    links: links.map(({ text, href }) => ({ text, href: inSite(href) })),
  }));
}

async function write(folder: string, path: string, text: string): Promise<void> {
  await mkdir(dirname(join(folder, path)), { recursive: true });
  await writeFile(join(folder, path), text);
}
