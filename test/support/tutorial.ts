/** Runs pages of the tutorial. */
import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import { commandsOf, isExpected, type Shell } from "./console.ts";

/** A page by its name, such as `3-nodes`. */
export function readPage(page: string): Promise<string> {
  return readFile(`docs/tutorials/${page}.md`, "utf8");
}

/** A page without the sections that need real nodes. */
export function withoutRealNodes(markdown: string): string {
  return markdown.replaceAll(/^### With real nodes$.*?(?=^#+ )/gms, "");
}

/** Runs every command of a page, one right after the other, and compares its output with the page. */
export async function runPage(shell: Shell, markdown: string): Promise<void> {
  const commands = commandsOf(markdown);
  expect(commands).not.toEqual([]);
  for (const { text, output } of commands) {
    const printedText = await shell.run(text);
    const isFine = output.length > 0 ? isExpected(output, printedText) : printedText.trim() === "";
    expect(isFine, `$ ${text}\n\nprints\n\n${printedText}\nnot\n\n${output.join("\n")}`).toBe(true);
  }
}
