/** Commands in Markdown pages with their expected output, and a shell that runs them. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

/** One command of a page. */
export interface Command {
  readonly text: string;
  /** Expected lines. `…` matches anything, and alone on a line any lines. Empty means that the output is ignored. */
  readonly output: readonly string[];
}

/** Commands in the page's ```console blocks, in order. */
export function commandsOf(markdown: string): readonly Command[] {
  return [...markdown.matchAll(/^```console\n(?<block>.*?)^```$/gms)].flatMap(({ groups }) =>
    parseBlock(groups?.block ?? ""),
  );
}

function parseBlock(block: string): readonly Command[] {
  const [, ...commands] = `\n${block}`.split(/^\$ /m);
  return commands.map((text) => {
    const [first = "", ...output] = text.trimEnd().split("\n");
    return { text: first, output };
  });
}

/** Whether a text matches; consecutive blanks count as one. */
export function isExpected(output: readonly string[], text: string): boolean {
  const pattern = output.map((line) => (line === "…" ? "(?:[^\\n]*\\n)*[^\\n]*" : patternOf(line))).join("\\n");
  return new RegExp(`^${pattern}$`).test(squeeze(text));
}

function patternOf(line: string): string {
  return squeeze(line)
    .split("…")
    .map((part) => RegExp.escape(part))
    .join("[^\\n]*");
}

function squeeze(text: string): string {
  return text
    .replaceAll(/[ \t]+/g, " ")
    .replaceAll(/ ?\n ?/g, "\n")
    .trim();
}

const END = "the-command-has-ended";

/** A shell that runs several commands and keeps its variables. */
export class Shell implements AsyncDisposable {
  readonly #bash: ChildProcessWithoutNullStreams;
  #output = "";
  #waiting: (() => void) | undefined;

  constructor(cwd: string) {
    const { PATH = "", HOME = "" } = process.env;
    this.#bash = spawn("bash", ["--noprofile", "--norc"], { cwd, env: { PATH, HOME, TMPDIR: cwd } });
    for (const stream of [this.#bash.stdout, this.#bash.stderr]) {
      stream.setEncoding("utf8").on("data", (text: string) => {
        this.#output += text;
        this.#waiting?.();
      });
    }
    this.#bash.stdin.write("exec 2>&1\n");
  }

  /** Runs one command and returns its output, including errors. */
  async run(command: string): Promise<string> {
    this.#output = "";
    // Commands must not read the standard input, from which the shell reads the commands.
    this.#bash.stdin.write(`{\n${command}\n} < /dev/null\necho ${END}\n`);
    while (!this.#output.includes(`${END}\n`)) {
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
    return this.#output.slice(0, this.#output.indexOf(END));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#bash.once("close", resolve));
    this.#bash.stdin.end("kill $(jobs -p); wait\n");
    await ended;
  }
}
