/** Commands in Markdown pages with their expected output, and a shell that runs them. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { setTimeout as delay } from "node:timers/promises";

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

const PATIENCE_MS = 20_000;
const END = "the-command-has-ended";
const END_LINE = new RegExp(`${END} (\\d+)\n`);

/** How to start a shell. */
export interface ShellOptions {
  /** Command that starts bash as another user. */
  readonly command?: readonly string[];
  /** Variables besides PATH, HOME and TMPDIR. */
  readonly env?: Readonly<Record<string, string>>;
}

/** A shell that runs several commands and keeps its variables. */
export class Shell implements AsyncDisposable {
  readonly #bash: ChildProcessWithoutNullStreams;
  #output = "";
  /** Exit code of the last command. */
  status = 0;
  #waiting: (() => void) | undefined;

  constructor(cwd: string, { command = [], env }: ShellOptions = {}) {
    const { PATH = "", HOME = "" } = process.env;
    const [program = "", ...args] = [...command, "bash", "--noprofile", "--norc"];
    this.#bash = spawn(program, args, { cwd, env: { PATH, HOME, TMPDIR: tmpdir(), ...env } });
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
    this.#bash.stdin.write(`{\n${command}\n} < /dev/null\necho ${END} $?\n`);
    for (;;) {
      const end = END_LINE.exec(this.#output);
      if (end) {
        this.status = Number(end[1]);
        return this.#output.slice(0, end.index);
      }
      await new Promise<void>((resolve) => {
        this.#waiting = resolve;
      });
    }
  }

  /** Ends the shell with its background jobs. Does not wait for a command that hangs. */
  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new Promise((resolve) => this.#bash.once("close", resolve));
    this.#bash.stdin.end("kill $(jobs -p); wait\n");
    await Promise.race([ended, delay(PATIENCE_MS, undefined, { ref: false })]);
    this.#bash.kill("SIGKILL");
    for (const stream of [this.#bash.stdout, this.#bash.stderr]) stream.destroy();
  }
}
