/** Console blocks in Markdown: the commands of a page and what they are said to print; and a shell that runs them. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";

/** One command of a page. */
export interface Command {
  readonly text: string;
  /** Lines it prints; `…` stands for anything, and alone on a line for any lines. None means that nobody looks. */
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

/** True when a text is as expected; runs of blanks count as one. */
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

/** One shell for a whole story: what one command sets, the next ones see. */
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

  /** Runs one command and returns what it and its errors print. */
  async run(command: string): Promise<string> {
    this.#output = "";
    // The shell reads its commands from the standard input, which is not for what they start.
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
