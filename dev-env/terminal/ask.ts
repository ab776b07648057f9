/** Questions to the user. */
import { createInterface } from "node:readline/promises";

/** The answer to a question; undefined if there is no terminal to ask on. */
export async function ask(question: string): Promise<string | undefined> {
  if (!process.stdin.isTTY) return undefined;
  using terminal = createInterface({ input: process.stdin, output: process.stderr });
  return (await terminal.question(question)).trim();
}
