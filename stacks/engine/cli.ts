/** The `pulumi` command line for the automation API, with its own environment and process handling. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import { PulumiCommand } from "@pulumi/pulumi/automation/index.js";
import { VERSIONS } from "../state/versions.ts";
import { killChild } from "./leftovers.ts";

/** The command line failed. The message is the end of its output. */
export class CliError extends Error {
  readonly exitCode: number | null;
  constructor(operation: string, exitCode: number | null, output: string) {
    super(output.trim() || `pulumi ${operation} exited with code ${exitCode}`);
    this.name = "CliError";
    this.exitCode = exitCode;
  }
}

/**
 * Canned answers to commands that a run does not need. Each would start another `pulumi` process. The stack has been
 * selected or written before, and the results of a run come from the event stream.
 */
const ANSWERS: Readonly<Record<string, string>> = {
  "stack select": "",
  "stack output": "{}",
  "stack history": "[]",
};

/** Arguments of `PulumiCommand.run`, whose own type is internal to the SDK. */
type RunArguments = [
  args: string[],
  cwd: string,
  additionalEnv: Record<string, string>,
  onOutput: unknown,
  onError: unknown,
  signal: AbortSignal | undefined,
];

/** A command for the automation API that starts `pulumi` once per run. Other commands get canned answers. */
export class Cli {
  /** The complete environment of the next process. */
  environment: Record<string, string> = {};
  readonly #pulumi: string;
  readonly #isDetached: boolean;
  #child: ChildProcess | undefined;

  /** `pulumi` is the binary. A detached process does not receive Ctrl-C from the terminal, only `interrupt`. */
  constructor(pulumi: string, { isDetached = false }: { readonly isDetached?: boolean } = {}) {
    this.#pulumi = pulumi;
    this.#isDetached = isDetached;
  }

  /** The command to pass to the automation API. */
  get command(): PulumiCommand {
    const run = async (...[args, cwd, additional, _onOutput, _onError, signal]: RunArguments) => {
      const answer = ANSWERS[args.slice(0, 2).join(" ")];
      if (answer !== undefined) return { stdout: answer, stderr: "", code: 0 };
      return this.#start(args, { cwd, env: { ...additional, ...this.environment }, ...(signal && { signal }) });
    };
    // The class has a private constructor. Its `get` would start another process, only to ask for the version.
    const fields = { command: { value: this.#pulumi }, version: { value: VERSIONS.pulumi }, run: { value: run } };
    return Object.create(PulumiCommand.prototype, fields) as PulumiCommand;
  }

  /** Asks the running process to stop: it finishes requests in flight and starts no others. */
  interrupt(): void {
    if (this.#child) killChild(this.#child, "SIGINT");
  }

  /** Ends the running process at once. */
  kill(): void {
    if (this.#child) killChild(this.#child, "SIGKILL");
  }

  async #start(args: readonly string[], options: Pick<SpawnOptions, "cwd" | "env" | "signal">) {
    const child = spawn(this.#pulumi, [...args, "--non-interactive"], {
      ...options,
      killSignal: "SIGKILL",
      detached: this.#isDetached,
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    try {
      const said = { stdout: "", stderr: "" };
      for (const stream of ["stdout", "stderr"] as const)
        child[stream].setEncoding("utf8").on("data", (text: string) => {
          said[stream] = keepTail(said[stream] + text);
        });
      const code = await new Promise<number | null>((resolve, reject) =>
        child.on("error", reject).on("close", resolve),
      );
      if (code !== 0) throw new CliError(args[0] ?? "", code, said.stderr || said.stdout);
      return { ...said, code };
    } finally {
      this.#child = undefined;
    }
  }
}

/** Limits memory. The end of the output explains a failure. */
function keepTail(text: string): string {
  return text.length > 64_000 ? text.slice(-32_000) : text;
}
