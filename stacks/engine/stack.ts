/**
 * A stack with a stored state: its program lies in a folder with a Pulumi.yaml, and plain `pulumi` works on it, too.
 *
 * The stored state is the truth for infrastructure. It cannot be rebuilt from lists as the state of units is, because the
 * API returns neither the user data nor the SSH keys of a server, and a difference in either replaces it.
 */
import { execFile } from "node:child_process";
import { mkdir, rm, symlink, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { type EngineEvent, LocalWorkspace, Stack as PulumiStack } from "@pulumi/pulumi/automation/index.js";
import { Cli } from "./cli.ts";
import { parseFailure } from "./errors.ts";
import { createStack, folderUrl, namedBackend, repairBackend } from "./file-backend.ts";
import { endRun } from "./leftovers.ts";
import { describeStep, type ResourceStep, resourceStepOf } from "./progress.ts";
import { Failures, Interruption, StackError } from "./stack-run.ts";
import type { Deployment } from "./stored-state.ts";

/** Where a stack is, and how its runs behave. */
export interface StackOptions {
  readonly name: string;
  /** Folder of the program, with a Pulumi.yaml. */
  readonly program: string;
  /** The `pulumi` binary. Its folder also has the language host. */
  readonly pulumi: string;
  /** Folder of Pulumi plugins. */
  readonly plugins: string;
  /** A folder for files of this stack, or of several that are never used at once. Has the backend, unless `env` names one. */
  readonly directory: string;
  /** File of the stack's configuration, in place of `Pulumi.<name>.yaml` beside the program. */
  readonly configFile: string;
  /** Variables besides those of `stackVariables`: credentials, and perhaps PULUMI_BACKEND_URL. */
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Interrupts a run, which then finishes its requests in flight and stores its state. No other run starts. */
  readonly signal?: AbortSignal;
  /** Interrupts a run that takes longer. */
  readonly deadlineMs?: number;
  /** Receives each finished change in words, such as `server dev-worker-1 created`. */
  readonly onChange?: (change: string) => void;
}

/** Options of one run. */
export interface RunOptions {
  /** Reads every resource first, so that manual changes are found. */
  readonly refresh?: boolean;
  /** URNs, or patterns of them, to which the run is limited, together with what depends on them. */
  readonly target?: readonly string[];
}

const LEFTOVER_GRACE_MS = 30_000;
const TRIES = 10;
const RETRY_MS = 1_000;
const MAX_STATE_BYTES = 512 * 1024 * 1024;
const execute = promisify(execFile);

/** A stored stack. Only one run at a time. */
export class StoredStack {
  readonly #stack: PulumiStack;
  readonly #cli: Cli;
  readonly #options: StackOptions;

  private constructor(stack: PulumiStack, cli: Cli, options: StackOptions) {
    this.#stack = stack;
    this.#cli = cli;
    this.#options = options;
  }

  /** Opens the stack, and creates it if it does not exist. Ends what an earlier, killed run left behind. */
  static async open(options: StackOptions): Promise<StoredStack> {
    await endRun(`${RUN_VARIABLE}=${options.directory}`, LEFTOVER_GRACE_MS);
    await prepareFolder(options);
    const cli = new Cli(options.pulumi, { isDetached: true });
    cli.environment = environmentOf(options);
    const workspace = await LocalWorkspace.create({ workDir: options.program, pulumiCommand: cli.command });
    const stack = new StoredStack(await PulumiStack.select(options.name, workspace), cli, options);
    if (namedBackend(options.env)) await stack.pulumi(["stack", "select", "--create"]);
    else await createStack(join(options.directory, "backend"), options.program, options.name);
    return stack;
  }

  /** Makes the cloud match the program. Returns the stack's outputs. */
  async up(options: RunOptions = {}): Promise<Readonly<Record<string, unknown>>> {
    await this.#retrying((common) => this.#stack.up({ ...common, ...mutable(options) }));
    return this.outputs();
  }

  /** What `up` would do: the steps that change something. */
  async preview(options: RunOptions = {}): Promise<readonly ResourceStep[]> {
    const steps: ResourceStep[] = [];
    const note = (step: ResourceStep) => {
      if (step.phase === "started" && CHANGES.has(step.operation)) steps.push(step);
    };
    await this.#run((common) => this.#stack.preview({ ...common, ...mutable(options) }), note);
    return steps;
  }

  /** Deletes everything, or the targets. */
  async destroy(options: RunOptions = {}): Promise<void> {
    const { target, refresh } = mutable(options);
    const limits = { ...(target && { target, targetDependents: true }), ...(refresh && { refresh }) };
    await this.#retrying((common) => this.#stack.destroy({ ...common, ...limits }));
  }

  /** The outputs of the last run; secret ones are hidden. */
  async outputs(): Promise<Readonly<Record<string, unknown>>> {
    return JSON.parse(await this.pulumi(["stack", "output", "--json"]));
  }

  /** The stored state, with secrets encrypted. */
  async deployment(): Promise<Deployment> {
    return this.amend(() => undefined);
  }

  /** Stores what `change` makes of the state; undefined means that it stays as it is. Returns the state. */
  async amend(
    change: (state: Deployment) => Deployment | undefined | Promise<Deployment | undefined>,
  ): Promise<Deployment> {
    const { directory, name } = this.#options;
    const exported = JSON.parse(await this.pulumi(["stack", "export"]));
    const { version, deployment } = exported as { version: number; deployment: Deployment };
    const changed = await change(deployment);
    if (!changed) return deployment;
    const file = join(directory, "import.json");
    try {
      await writeFile(file, JSON.stringify({ version, deployment: changed }), { mode: 0o600 });
      await this.pulumi(["stack", "import", "--stack", name, "--file", file]);
    } finally {
      await rm(file, { force: true });
    }
    return changed;
  }

  /** Sets values of the configuration. Secrets that it has already are left alone: encrypting one again changes it. */
  async configure(values: object, secrets: Readonly<Record<string, string>> = {}): Promise<void> {
    const plain = Object.entries(values).flatMap(([key, value]) => ["--plaintext", `${key}=${value}`]);
    if (plain.length > 0) await this.pulumi(["config", "set-all", ...plain]);
    if (Object.keys(secrets).length === 0) return;
    const stored = Object.keys(JSON.parse(await this.pulumi(["config", "--json"])));
    const missing = Object.entries(secrets).filter(([key]) => !stored.some((it) => it.endsWith(`:${key}`)));
    // By standard input: other users can read arguments.
    for (const [key, value] of missing) await this.pulumi(["config", "set", "--secret", key], value);
  }

  /** Runs another command of `pulumi`, such as `plugin install`. `input` is its standard input. Returns its output. */
  async pulumi(args: readonly string[], input = ""): Promise<string> {
    const { program, pulumi } = this.#options;
    const options = { cwd: program, env: this.#cli.environment, maxBuffer: MAX_STATE_BYTES };
    try {
      const running = execute(pulumi, [...args, "--non-interactive"], options);
      running.child.stdin?.on("error", () => {}).end(input); // its exit code says why it did not read it
      return (await running).stdout;
    } catch (error) {
      const detail = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
      throw new StackError([{ failure: parseFailure(detail) }], error);
    }
  }

  /** Repeats a run that failed only because the API was still working on its resources. */
  async #retrying(operation: (common: Common) => Promise<unknown>): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#run(operation);
      } catch (error) {
        if (!(error instanceof StackError) || !error.isTransient || attempt === TRIES) throw error;
        await delay(RETRY_MS);
      }
    }
  }

  /** Runs one operation with events, interruption and a deadline. */
  async #run(operation: (common: Common) => Promise<unknown>, note?: (step: ResourceStep) => void): Promise<void> {
    const { signal: stop, deadlineMs, onChange } = this.#options;
    stop?.throwIfAborted();
    const failures = new Failures();
    const onEvent = (event: EngineEvent) => {
      failures.note(event);
      const step = resourceStepOf(event);
      if (!step || step.type.startsWith("pulumi:")) return;
      note?.(step);
      const change = describeStep(step);
      if (change) onChange?.(change);
    };
    const limits = [stop, deadlineMs === undefined ? undefined : AbortSignal.timeout(deadlineMs)];
    using interruption = new Interruption(AbortSignal.any(limits.filter((signal) => signal !== undefined)), () =>
      this.#cli.interrupt(),
    );
    try {
      await operation({ onEvent, suppressProgress: true, signal: interruption.kill });
    } catch (error) {
      throw new StackError(failures.all(error), error);
    }
  }
}

/** The variable in the environment of a run by which its processes are found. */
const RUN_VARIABLE = "LOTSE_STACK_RUN";
/** Operations that count as changes in a preview. Those inside a replacement do not count again. */
const CHANGES = new Set(["create", "update", "delete", "replace"]);

interface Common {
  readonly onEvent: (event: EngineEvent) => void;
  readonly suppressProgress: true;
  readonly signal: AbortSignal;
}

/** Variables with which `pulumi` works on a stack. A backend in the environment is used in place of the folder's own. */
export function stackVariables({ directory, name, configFile, env }: StackFiles): Readonly<Record<string, string>> {
  return {
    PULUMI_HOME: join(directory, "home"),
    PULUMI_BACKEND_URL: namedBackend(env) ?? folderUrl(directory),
    PULUMI_CONFIG_PASSPHRASE_FILE: join(directory, "passphrase"),
    PULUMI_OPTION_STACK: name,
    PULUMI_OPTION_CONFIG_FILE: configFile,
    PULUMI_SKIP_UPDATE_CHECK: "true",
    PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION: "true",
  };
}

type StackFiles = Pick<StackOptions, "directory" | "name" | "configFile" | "env">;

function environmentOf(options: StackOptions): Record<string, string> {
  // A passphrase would have priority over the file.
  const { PULUMI_CONFIG_PASSPHRASE: _, ...inherited } = options.env;
  const all = {
    ...inherited,
    ...stackVariables(options),
    PATH: [dirname(options.pulumi), dirname(process.execPath), inherited.PATH].join(delimiter),
    [RUN_VARIABLE]: options.directory,
  };
  return Object.fromEntries(Object.entries(all).filter((entry): entry is [string, string] => entry[1] !== undefined));
}

/** Creates the folders, and repairs the backend in them. */
async function prepareFolder({ directory, plugins }: StackOptions): Promise<void> {
  const home = join(directory, "home");
  for (const folder of [home, join(directory, "backend")]) await mkdir(folder, { recursive: true });
  await rm(join(home, "plugins"), { force: true });
  await symlink(plugins, join(home, "plugins"));
  await repairBackend(join(directory, "backend"));
}

function mutable({ refresh, target }: RunOptions) {
  return {
    ...(refresh && { refresh }),
    ...(target && target.length > 0 && { target: [...target] }),
  };
}
