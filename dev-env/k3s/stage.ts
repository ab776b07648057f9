/** One stack of an environment as we use it: applied, destroyed, its state read and written. */

import { dirname } from "node:path";
import {
  type Deployment,
  type EngineEvent,
  LocalWorkspace,
  PulumiCommand,
  type PulumiFn,
  Stack,
} from "@pulumi/pulumi/automation/index.js";
import { messageOf } from "../../controller/errors.ts";
import { endLeftovers } from "../../stacks/leftovers.ts";
import { cliEnvironment, type EngineHome, folders, prepareFolders, removeLocks } from "../../stacks/workspace.ts";
import type { StateRecord } from "./adopt.ts";
import { StageCommand } from "./command.ts";
import { DevEnvError } from "./errors.ts";
import { StageSteps } from "./steps.ts";

/** Pulumi project of the stacks here. */
export const PROJECT = "lotse-dev-env";

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
    await endLeftovers(home.directory);
    await prepareFolders(home);
    await removeLocks(home);
    const { project, home: pulumiHome } = folders(home);
    const command = new StageCommand(await PulumiCommand.get({ root: dirname(dirname(home.pulumi)) }), home.directory);
    const workspace = await LocalWorkspace.create({
      workDir: project,
      pulumiHome,
      pulumiCommand: command.command(environmentOf(options)),
      projectSettings: { name: PROJECT, runtime: "nodejs" },
    });
    return new Stage(await Stack.createOrSelect(home.stack, workspace), command, options);
  }

  /** Makes the stack what the program declares; gives the stack's outputs. */
  async up(program: PulumiFn): Promise<Readonly<Record<string, unknown>>> {
    const { outputs } = await this.#run((onEvent) => this.#stack.up({ program, suppressProgress: true, onEvent }));
    return Object.fromEntries(Object.entries(outputs).map(([name, { value }]) => [name, value]));
  }

  /** Destroys the resources with these URNs, `*` being anything; everything when there are none given. */
  async destroy(target: readonly string[] = []): Promise<void> {
    await this.#run((onEvent) =>
      this.#stack.destroy({ suppressProgress: true, onEvent, ...(target.length > 0 && { target: [...target] }) }),
    );
  }

  /** The resources in the state. */
  async state(): Promise<readonly StateRecord[]> {
    return deploymentOf(await this.#stack.exportStack()).resources ?? [];
  }

  /** Replaces the resources in the state, and forgets what was under way: whoever writes has looked at what came of it. */
  async setState(resources: readonly StateRecord[]): Promise<void> {
    const exported = await this.#stack.exportStack();
    const { pending_operations: _, ...rest } = deploymentOf(exported);
    await this.#stack.importStack({ ...exported, deployment: { ...rest, resources } });
  }

  /** Installs a plugin for this stack, unless it is there. */
  async installPlugin(name: string, version: string): Promise<void> {
    await this.#stack.workspace.installPlugin(name, `v${version}`);
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

interface StackState {
  readonly resources?: readonly StateRecord[];
  readonly pending_operations?: unknown;
}

function deploymentOf({ deployment }: Deployment): StackState {
  return (deployment ?? {}) as StackState;
}

function environmentOf({ home, passphrase, env }: StageOptions): Record<string, string> {
  const { PULUMI_SKIP_CHECKPOINTS: _, PULUMI_EXPERIMENTAL: _experimental, ...base } = cliEnvironment(home);
  return { ...base, PULUMI_CONFIG_PASSPHRASE: passphrase, ...env };
}
