/** Shell commands in Markdown pages. */
import { commandsOf } from "./console.ts";

/** A block of commands, and the heading it stands under. */
export interface Block {
  readonly heading: string;
  readonly language: string;
  readonly commands: readonly string[];
}

/** All fenced blocks of a page. Only those in `sh` and `console` have commands. */
export function blocksOf(markdown: string): readonly Block[] {
  const parts = markdown.matchAll(/^```(?<language>\w*)\n(?<text>.*?)^```$|^#+ (?<heading>[^\n]+)$/gms);
  let heading = "";
  return [...parts].flatMap(({ 0: block, groups }): readonly Block[] => {
    if (groups?.heading !== undefined) {
      heading = groups.heading;
      return [];
    }
    const commands = [...shellLines(block), ...commandsOf(block).map(({ text }) => text)];
    return [{ heading, language: groups?.language ?? "", commands }];
  });
}

/** The section of a page under a heading below the first level, up to the next heading. */
export function sectionOf(markdown: string, heading: string): string {
  const sections = markdown.split(/^##+ /m);
  const section = sections.find((text) => text.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`no section "${heading}"`);
  return section.slice(heading.length);
}

/** The commands in ```sh blocks, in order, with continued lines joined. */
export function shellLines(markdown: string): readonly string[] {
  return [...markdown.matchAll(/^```sh\n(?<block>.*?)^```$/gms)]
    .flatMap(({ groups }) => (groups?.block ?? "").replaceAll(/\\\n\s*/g, "").split("\n"))
    .filter((line) => line !== "" && !line.startsWith("#"));
}
