/**
 * Code in pages, filled in from the sources. A comment above a block of code names what it shows:
 *
 * | comment | code |
 * | --- | --- |
 * | `<!-- from file -->` | the whole file |
 * | `<!-- from file.ts#name,Class.method -->` | declarations with their doc comments, in this order |
 */
import ts from "typescript";

const EXCERPT = /(?<=^<!-- from (?<file>[^\s#]+)(?:#(?<symbols>\S+))? -->\n+```\w+\n).*?(?=^```$)/gms;

/** The page with the current code in its blocks. `read` returns the text of a file; throws when a declaration is missing. */
export function fillExcerpts(markdown: string, read: (file: string) => string): string {
  return markdown.replaceAll(EXCERPT, (...match) => {
    const { file = "", symbols } = match.at(-1) as { readonly file?: string; readonly symbols?: string };
    const text = read(file);
    return symbols === undefined ? text : `${declarationsOf(file, text, symbols.split(","))}\n`;
  });
}

/** Declarations that follow each other in the source without a blank line do so in the page. */
function declarationsOf(file: string, text: string, symbols: readonly string[]): string {
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
  const nodes = symbols.map((symbol) => {
    const node = find(source, symbol.split("."));
    if (!node) throw new Error(`${file} has no declaration ${symbol}`);
    return node;
  });
  return nodes.reduce((code, node, index) => {
    const gap = text.slice(nodes[index - 1]?.end ?? 0, node.getStart(source, true));
    const separator = index === 0 ? "" : gap === "\n" ? "\n" : "\n\n";
    return code + separator + dedented(node, source);
  }, "");
}

/** The declaration with this name, or the member of a class: `["Cluster", "#pool"]`. */
function find(source: ts.SourceFile, [name = "", member]: readonly string[]): ts.Node | undefined {
  const found = source.statements.find((statement) =>
    ts.isVariableStatement(statement)
      ? statement.declarationList.declarations.some((declaration) => declaration.name.getText(source) === name)
      : nameOf(statement, source) === name,
  );
  if (member === undefined || !found) return found;
  return ts.isClassDeclaration(found) ? found.members.find((node) => nameOf(node, source) === member) : undefined;
}

function nameOf(node: ts.Node, source: ts.SourceFile): string | undefined {
  if (ts.isConstructorDeclaration(node)) return "constructor";
  return "name" in node ? (node.name as ts.Node | undefined)?.getText(source) : undefined;
}

/** The text of a node with its doc comment, moved to the left. */
function dedented(node: ts.Node, source: ts.SourceFile): string {
  const start = node.getStart(source, true);
  const { character } = source.getLineAndCharacterOfPosition(start);
  return source.text.slice(start, node.end).replaceAll(new RegExp(`^ {${character}}`, "gm"), "");
}
