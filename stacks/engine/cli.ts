/** The `pulumi` command line under the automation API: our own environment, process handling and exit. */
import { type ChildProcess, type SpawnOptions, spawn } from "node:child_process";
import type { PulumiCommand } from "@pulumi/pulumi/automation/index.js";

/** The command line ended with an error. */
export class CliError extends Error {
  readonly exitCode: number | null;
  constructor(operation: string, exitCode: number | null, output: string) {
    super(output.trim() || `pulumi ${operation} ended with code ${exitCode}`);
    this.name = "CliError";
    this.exitCode = exitCode;
  }
}

/** Operations that the automation API asks for and a run can do without: each would start the command line once more. */
const ANSWERS: Readonly<Record<string, string>> = {
  "stack select": "",
  "stack output": "{}",
  "stack history": "[]",
};

/** What the automation API calls a command with; its own type of it is internal. */
type RunArguments = [
  args: string[],
  cwd: string,
  additionalEnv: Record<string, string>,
  onOutput: unknown,
  onError: unknown,
  signal: AbortSignal | undefined,
];

/**
 * A command for the automation API that starts `pulumi` once per run. Everything else it asks for is answered here:
 * the stack exists because we wrote its state, and what came out of a run is known from the event stream.
 */
export class Cli {
  /** The whole environment of the next process. */
  environment: Record<string, string> = {};
  readonly #base: PulumiCommand;
  #child: ChildProcess | undefined;

  constructor(base: PulumiCommand) {
    this.#base = base;
  }

  /** The command as the automation API wants it. */
  get command(): PulumiCommand {
    const run = async (...[args, cwd, additional, _onOutput, _onError, signal]: RunArguments) => {
      const answer = ANSWERS[args.slice(0, 2).join(" ")];
      if (answer !== undefined) return { stdout: answer, stderr: "", code: 0 };
      return this.#start(args, { cwd, env: { ...additional, ...this.environment }, ...(signal && { signal }) });
    };
    // The class has a private constructor; its prototype carries version and path, only `run` is ours.
    return Object.create(this.#base, { run: { value: run } }) as PulumiCommand;
  }

  /** Asks a running operation to stop: it finishes what is in flight and starts nothing more. */
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

/** The end of an output is what explains a failure; the rest of a long one is not worth the memory. */
function keepTail(text: string): string {
  return text.length > 64_000 ? text.slice(-32_000) : text;
}
