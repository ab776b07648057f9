/** The `pulumi` command line for the automation API, with its own environment and process handling. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import type { PulumiCommand } from "@pulumi/pulumi/automation/index.js";

/** The command line failed. The message is the end of its output. */
export class CliError extends Error {
  readonly exitCode: number | null;
  constructor(operation: string, exitCode: number | null, output: string) {
    super(output.trim() || `pulumi ${operation} exited with code ${exitCode}`);
    this.name = "CliError";
    this.exitCode = exitCode;
  }
}

/** Canned answers to commands that a run does not need. Each would start another `pulumi` process. */
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

/**
 * A command for the automation API that starts `pulumi` once per run. Other commands get canned answers: the stack
 * exists because its state file was written, and the results of a run come from the event stream.
 */
export class Cli {
  /** The complete environment of the next process. */
  environment: Record<string, string> = {};
  readonly #base: PulumiCommand;
  #child: ChildProcess | undefined;

  constructor(base: PulumiCommand) {
    this.#base = base;
  }

  /** The command to pass to the automation API. */
  get command(): PulumiCommand {
    const run = async (...[args, cwd, additional, _onOutput, _onError, signal]: RunArguments) => {
      const answer = ANSWERS[args.slice(0, 2).join(" ")];
      if (answer !== undefined) return { stdout: answer, stderr: "", code: 0 };
      return this.#start(args, { cwd, env: { ...additional, ...this.environment }, ...(signal && { signal }) });
    };
    // The class has a private constructor, so the original serves as prototype and only `run` is overridden.
    return Object.create(this.#base, { run: { value: run } }) as PulumiCommand;
  }

  /** Asks the running process to stop: it finishes requests in flight and starts no others. */
  interrupt(): void {
    this.#child?.kill("SIGINT");
  }

  async #start(args: readonly string[], options: Pick<SpawnOptions, "cwd" | "env" | "signal">) {
    const child = spawn(this.#base.command, [...args, "--non-interactive"], {
      ...options,
      killSignal: "SIGKILL",
      stdio: ["ignore", "pipe", "pipe"],
    });
    this.#child = child;
    try {
      let stdout = "";
      let stderr = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => {
        stdout = keepTail(stdout + text);
      });
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        stderr = keepTail(stderr + text);
      });
      const code = await new Promise<number | null>((resolve, reject) =>
        child.on("error", reject).on("close", resolve),
      );
      if (code !== 0) throw new CliError(args[0] ?? "", code, stderr || stdout);
      return { stdout, stderr, code };
    } finally {
      this.#child = undefined;
    }
  }
}

/** Limits memory. The end of the output explains a failure. */
function keepTail(text: string): string {
  return text.length > 64_000 ? text.slice(-32_000) : text;
}
