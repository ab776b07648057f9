/** What Markdown pages contain, as far as tests look at it. */

/** The text with code blanked out, line by line: samples of output and names in code are not prose. */
export function proseOf(markdown: string): string {
  const blank = (code: string) => code.replaceAll(/[^\n]/g, " ");
  return markdown
    .replaceAll(/^( *)```.*?^\1```$/gms, blank)
    .replaceAll(/<!--.*?-->/gs, blank)
    .replaceAll(/`[^`]*`/g, blank)
    .replaceAll(/\]\([^)]*\)/g, blank);
}

/** A link to a file of the repository: its path as written, and the heading in it. */
export interface Link {
  readonly path: string;
  readonly anchor: string;
}

/** Links to files; those to other sites are left out. */
export function linksIn(markdown: string): readonly Link[] {
  return [...markdown.matchAll(/\]\((?![a-z]+:)(?<path>[^)#\s]*)(?:#(?<anchor>[^)\s]*))?\)/g)].map(({ groups }) => ({
    path: groups?.path ?? "",
    anchor: groups?.anchor ?? "",
  }));
}

/** Anchors of a page's headings, as GitHub makes them. */
export function anchorsIn(markdown: string): ReadonlySet<string> {
  const headings = markdown.matchAll(/^#+ (?<heading>.+)$/gm);
  return new Set(
    [...headings].map(({ groups }) =>
      (groups?.heading ?? "")
        .toLowerCase()
        .replaceAll(/[^\p{L}\p{N}\s_-]/gu, "")
        .replaceAll(" ", "-"),
    ),
  );
}
