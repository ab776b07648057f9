/** What surrounds a page: navigation, search and the style sheet. */
import { posix } from "node:path";
import { lexer, type Token, type Tokens } from "marked";
import { escapeHtml } from "./markdown.ts";
import type { Page } from "./site.ts";

/** A group of links in the navigation. */
export interface Chapter {
  readonly title: string;
  readonly links: readonly { readonly text: string; readonly href: string }[];
}

/** The navigation is the table of contents in docs/README.md: a chapter per heading of the second level, with its links. */
export function readNavigation(markdown: string): readonly Chapter[] {
  const chapters: { title: string; links: Chapter["links"] }[] = [];
  for (const token of lexer(markdown)) {
    if (token.type === "heading" && token.depth === 2) chapters.push({ title: token.text, links: [] });
    const current = chapters.at(-1);
    if (current) current.links = [...current.links, ...linksOf(token)];
  }
  return chapters;
}

function linksOf(token: Token): readonly { readonly text: string; readonly href: string }[] {
  if (token.type === "link") return token.href.endsWith(".md") ? [{ text: token.text, href: token.href }] : [];
  const items: readonly Token[] = token.type === "list" ? (token as Tokens.List).items : [];
  const parts: readonly Token[] = "tokens" in token ? (token.tokens ?? []) : [];
  return [...items, ...parts].flatMap(linksOf);
}

/** The whole page. `chapters` have paths of the site. */
export function renderLayout({ path, title, html }: Page, chapters: readonly Chapter[]): string {
  const relative = (target: string) => posix.relative(posix.dirname(path), target);
  const link = ({ text, href }: Chapter["links"][number]) =>
    `<li><a href="${relative(href)}"${href === path ? ' aria-current="page"' : ""}>${escapeHtml(text.replaceAll("`", ""))}</a></li>`;
  const groups = chapters.map(
    (chapter) => `<h2>${escapeHtml(chapter.title)}</h2>\n<ul>${chapter.links.map(link).join("\n")}</ul>`,
  );
  const base = relative("index.html").slice(0, -"index.html".length);
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} · Lotse</title>
<link rel="stylesheet" href="${base}style.css">
<script>document.documentElement.dataset.base = "${base}";</script>
<script defer src="${base}minisearch.js"></script>
<script defer src="${base}search-index.js"></script>
<script defer src="${base}search.js"></script>
</head>
<body>
<header>
<a class="home" href="${base}index.html">Lotse</a>
<input id="search" type="search" placeholder="Search (press /)" aria-label="Search" autocomplete="off">
<ol id="results" hidden></ol>
</header>
<details class="menu"><summary>Contents</summary></details>
<nav aria-label="Contents">
${groups.join("\n")}
</nav>
<main>
${html}
</main>
</body>
</html>
`;
}
