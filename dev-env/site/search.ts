/** The index of the search, which search.js loads in the browser. */
import MiniSearch from "minisearch";
import type { Page } from "./site.ts";

/** search.js has them from the index. */
const OPTIONS = {
  fields: ["heading", "title", "text"],
  storeFields: ["heading", "title", "href"],
  searchOptions: { prefix: true, fuzzy: 0.15, combineWith: "AND" as const, boost: { heading: 4, title: 2 } },
};

/** A script that defines the index: browsers do not load data from a disk otherwise. */
export function renderSearchIndex(pages: readonly Page[]): string {
  const index = new MiniSearch(OPTIONS);
  const documents = pages.flatMap(({ path, title, sections }) =>
    sections.map(({ heading, anchor, text }) => ({
      id: `${path}#${anchor}`,
      href: `${path}#${anchor}`,
      title,
      heading,
      text,
    })),
  );
  index.addAll(documents);
  return `window.SEARCH = ${JSON.stringify({ options: OPTIONS, index: JSON.stringify(index) })};\n`;
}
