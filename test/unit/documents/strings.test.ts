/** The texts in the sources that people read: messages, Events, help. */
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import ts from "typescript";
import { expect, it } from "vitest";
import { bannedIn } from "./banned-phrases.ts";

const FOLDERS = ["controller", "stacks", "dev-env"];

const FILES = execFileSync("git", ["ls-files", ...FOLDERS.map((folder) => `${folder}/*.ts`)], { encoding: "utf8" })
  .trim()
  .split("\n")
  .filter(existsSync);

/** String and template literals of more than one word, each with its line. */
function textsIn(file: string): readonly { readonly text: string; readonly line: number }[] {
  const source = ts.createSourceFile(file, readFileSync(file, "utf8"), ts.ScriptTarget.Latest, true);
  const found: { text: string; line: number }[] = [];
  const visit = (node: ts.Node): void => {
    const text = textOf(node);
    if (text !== undefined) {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart(source));
      if (/\w \w/.test(text)) found.push({ text, line: line + 1 });
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

/** A literal's text, with an ellipsis for each value in it. */
function textOf(node: ts.Node): string | undefined {
  if (ts.isStringLiteralLike(node)) return withoutCommands(node.text);
  if (!ts.isTemplateExpression(node)) return undefined;
  return withoutCommands([node.head.text, ...node.templateSpans.map(({ literal }) => literal.text)].join("…"));
}

/** Indented lines of help are commands to type. */
function withoutCommands(text: string): string {
  return text.replaceAll(/^ {2}.*$/gm, "");
}

it("texts in the sources have no banned phrase", { timeout: 30_000 }, () => {
  const findings = FILES.flatMap((file) =>
    textsIn(file).flatMap(({ text, line }) =>
      bannedIn(text).map(({ phrase, suggestion }) => `${file}:${line}: "${phrase}": ${suggestion}`),
    ),
  );
  expect(findings).toEqual([]);
});
