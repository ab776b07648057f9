/** One stack of an environment as we use it: applied, destroyed, its state read and written. */

import { dirname } from "node:path";
import {
  type EngineEvent,
  LocalWorkspace,
  PulumiCommand,
  type PulumiFn,
  Stack,
} from "@pulumi/pulumi/automation/index.js";
import { messageOf } from "../../controller/diagnostics/errors.ts";
import {
  backendFile,
  cliEnvironment,
  type EngineHome,
  folders,
  prepareFolders,
  readState,
  removeLocks,
  writeState,
} from "../../stacks/state/workspace.ts";
import { PROJECT } from "../../stacks/units/names.ts";
import type { ResourceRecord } from "../../stacks/units/records.ts";
import { endLeftovers, StageCommand } from "./command.ts";
import { DevEnvError } from "./errors.ts";
import { StageSteps } from "./steps.ts";

/** Where a stage works, and with what. */
export interface StageOptions {
  /** `directory` belongs to this stage alone; `stack` is its name. */
  readonly home: EngineHome;
  /** Encrypts secret values in the state. */
  readonly passphrase: string;
  /** Further environment of the command line and its plugins: credentials. */
  readonly env: Readonly<Record<string, string>>;
  /** Told what is being worked on, and what is done. */
  readonly onStep?: (line: string, isDone: boolean) => void;
  /** Interrupts a running operation, which then ends in good order, and lets no other begin. */
  readonly signal?: AbortSignal;
}

/** A run of the engine failed. Carries a line per cause. */
export class StageError extends DevEnvError {
  readonly causes: readonly string[];
  constructor(causes: readonly string[], cause: unknown) {
    super(causes.join("\n"), { cause });
    this.causes = causes;
  }
}

export class Stage {
  readonly #stack: Stack;
  readonly #command: StageCommand;
  readonly #options: StageOptions;

  private constructor(stack: Stack, command: StageCommand, options: StageOptions) {
    this.#stack = stack;
    this.#command = command;
    this.#options = options;
  }

  /** Opens the stack, which is made when there is none. What a killed run left running is ended, its lock removed. */
  static async open(options: StageOptions): Promise<Stage> {
    const { home } = options;
    endLeftovers(home);
    await prepareFolders(home);
    await removeLocks(home);
    const { project, home: pulumiHome } = folders(home);
    const command = new StageCommand(await PulumiCommand.get({ root: dirname(dirname(home.pulumi)) }));
    const workspace = await LocalWorkspace.create({
      workDir: project,
      pulumiHome,
      pulumiCommand: command.command(environmentOf(options)),
      projectSettings: { name: PROJECT, runtime: "nodejs" },
    });
    const isThere = (await readState(backendFile(home))) !== undefined;
    const stack = await (isThere ? Stack.select(home.stack, workspace) : Stack.create(home.stack, workspace));
    return new Stage(stack, command, options);
  }

  /** Makes the stack what the program declares; gives the stack's outputs. */
  async up(program: PulumiFn): Promise<Readonly<Record<string, unknown>>> {
    await this.#run((onEvent) => this.#stack.up({ program, suppressProgress: true, onEvent }));
    const root = (await this.state()).find(({ type }) => type === "pulumi:pulumi:Stack");
    return { ...root?.outputs };
  }

  /** Destroys the resources with these URNs, `*` being anything; everything when there are none given. */
  async destroy(target: readonly string[] = []): Promise<void> {
    await this.#run((onEvent) =>
      this.#stack.destroy({ suppressProgress: true, onEvent, ...(target.length > 0 && { target: [...target] }) }),
    );
  }

  /** The resources in the state; secrets in them stay encrypted. */
  async state(): Promise<readonly ResourceRecord[]> {
    return (await this.#read()).checkpoint?.latest?.resources ?? [];
  }

  /** Replaces the resources in the state, and forgets what was under way: whoever writes has looked at what came of it. */
  async setState(resources: readonly ResourceRecord[]): Promise<void> {
    const file = await this.#read();
    const { pending_operations: _, ...latest } = file.checkpoint?.latest ?? { manifest: NO_MANIFEST };
    const checkpoint = { ...file.checkpoint, latest: { ...latest, resources } };
    await writeState(backendFile(this.#options.home), JSON.stringify({ ...file, checkpoint }));
  }

  /** Installs a plugin for this stack, unless it is there. */
  async installPlugin(name: string, version: string): Promise<void> {
    await this.#stack.workspace.installPlugin(name, `v${version}`);
  }

  async #read(): Promise<StateFile> {
    return JSON.parse((await readState(backendFile(this.#options.home))) ?? "{}") as StateFile;
  }

  async #run<T>(operation: (onEvent: (event: EngineEvent) => void) => Promise<T>): Promise<T> {
    const { onStep = () => {}, signal } = this.#options;
    signal?.throwIfAborted();
    const steps = new StageSteps(onStep);
    const interrupt = () => this.#command.interrupt();
    signal?.addEventListener("abort", interrupt, { once: true });
    try {
      return await operation((event) => steps.take(event));
    } catch (error) {
      throw new StageError(steps.failures.length > 0 ? steps.failures : [messageOf(error)], error);
    } finally {
      signal?.removeEventListener("abort", interrupt);
    }
  }
}

/** The state file, as far as we look at it. */
interface StateFile {
  readonly checkpoint?: {
    readonly latest?: { readonly resources?: readonly ResourceRecord[]; readonly pending_operations?: unknown };
  };
}

const NO_MANIFEST = { time: "1970-01-01T00:00:00Z", magic: "", version: "" };

function environmentOf({ home, passphrase, env }: StageOptions): Record<string, string> {
  const { PULUMI_SKIP_CHECKPOINTS: _, PULUMI_EXPERIMENTAL: _experimental, ...base } = cliEnvironment(home);
  return { ...base, PULUMI_CONFIG_PASSPHRASE: passphrase, ...env };
}
