/** The `pulumi` command line of a stage. */
import { type ChildProcess, spawn } from "node:child_process";
import type { PulumiCommand } from "@pulumi/pulumi/automation/index.js";
import { CliError } from "../../stacks/engine/cli.ts";
import { endPlugins, endProcesses } from "../../stacks/engine/leftovers.ts";
import { type EngineHome, folders } from "../../stacks/state/workspace.ts";

/**
 * What the automation API asks for before and after a run and is known without: each would start the command line once
 * more. A stack that has a state exists, and its outputs are in there.
 */
const ANSWERS: Readonly<Record<string, string>> = {
  "stack select": "",
  "stack output": "{}",
  "stack history": "[]",
};

/** Operations that change something; the others are over in a moment and are left to the automation API. */
const LONG = new Set(["up", "destroy"]);

/** Ends the command line and the plugins that a killed run left behind: both were given the stage's own folder. */
export function endLeftovers(home: EngineHome): void {
  const given = `PULUMI_HOME=${folders(home).home}`;
  endProcesses((table) => table("cmdline").startsWith(home.pulumi) && table("environ").split("\0").includes(given));
  endPlugins(home.directory);
}

export class StageCommand {
  readonly #base: PulumiCommand;
  #child: ChildProcess | undefined;

  constructor(base: PulumiCommand) {
    this.#base = base;
  }

  /** The command as the automation API wants it; `environment` is the whole environment of the process. */
  command(environment: Readonly<Record<string, string>>): PulumiCommand {
    const base = this.#base as unknown as { run: Run };
    const run: Run = async (args, cwd, additional, ...rest) => {
      const answer = ANSWERS[args.slice(0, 2).join(" ")];
      if (answer !== undefined) return { stdout: answer, stderr: "", code: 0 };
      const env = { ...additional, ...environment };
      return LONG.has(args[0] ?? "") ? this.#start(args, cwd, env) : base.run.call(this.#base, args, cwd, env, ...rest);
    };
    // The class has a private constructor; its prototype carries version and path, only `run` is ours.
    return Object.create(this.#base, { run: { value: run } }) as PulumiCommand;
  }

  /** Asks a running operation to stop: it finishes what is in flight, writes its state and starts nothing more. */
  interrupt(): void {
    this.#child?.kill("SIGINT");
  }

  async #start(args: readonly string[], cwd: string, env: Record<string, string>): Promise<RunResult> {
    const child = spawn(this.#base.command, [...args, "--non-interactive"], {
      cwd,
      env,
      stdio: ["ignore", "pipe", "pipe"],
      // Ctrl-C reaches it through us, once.
      detached: true,
    });
    this.#child = child;
    const output = { stdout: "", stderr: "" };
    for (const name of ["stdout", "stderr"] as const) {
      child[name].setEncoding("utf8").on("data", (text: string) => {
        output[name] = (output[name] + text).slice(-32_000);
      });
    }
    try {
      const code = await new Promise<number | null>((resolve, reject) =>
        child.on("error", reject).on("close", resolve),
      );
      if (code !== 0) throw new CliError(args[0] ?? "", code, output.stderr || output.stdout);
      return { ...output, code };
    } finally {
      this.#child = undefined;
    }
  }
}

interface RunResult {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number;
}

type Run = (
  args: string[],
  cwd: string,
  additional: Record<string, string>,
  ...rest: readonly unknown[]
) => Promise<RunResult>;
