/** Shell commands in Markdown pages. */

/** The section of a page under a heading of the second level. */
export function sectionOf(markdown: string, heading: string): string {
  const [, section] = markdown.split(`\n## ${heading}\n`);
  if (section === undefined) throw new Error(`no section "${heading}"`);
  return section.split("\n## ")[0] ?? "";
}

/** The commands in ```sh blocks, in order, with continued lines joined. */
export function shellLines(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^```sh\n(?<block>.*?)^```$/gms)]
    .flatMap(({ groups }) => (groups?.block ?? "").replaceAll(/\\\n\s*/g, "").split("\n"))
    .filter((line) => line !== "" && !line.startsWith("#"));
}
