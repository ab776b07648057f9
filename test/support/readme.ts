/** Shell blocks of a page, as somebody would paste them. */

/** What a page says under a heading of the second level. */
export function sectionOf(markdown: string, heading: string): string {
  const [, section] = markdown.split(`\n## ${heading}\n`);
  if (section === undefined) throw new Error(`no section "${heading}"`);
  return section.split("\n## ")[0] ?? "";
}

/** The commands in its ```sh blocks, in order; continued lines are one. */
export function shellLines(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^```sh\n(?<block>.*?)^```$/gms)]
    .flatMap(({ groups }) => (groups?.block ?? "").replaceAll(/\\\n\s*/g, "").split("\n"))
    .filter((line) => line !== "" && !line.startsWith("#"));
}
