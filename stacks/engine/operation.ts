/**
 * One `pulumi` operation, started ahead of its request to hide the start-up time: the command line starts at once, and
 * blocks at the key service, before it reads the state, until the request has arrived.
 */
import type { Stack } from "@pulumi/pulumi/automation/index.js";
import { narrow, recordsFor, renderCheckpoint } from "../state/checkpoint.ts";
import { VERSIONS } from "../state/versions.ts";
import { backendFile, cliEnvironment, type EngineHome, removeLocks, writeState } from "../state/workspace.ts";
import { unitOf, unitsPattern } from "../units/names.ts";
import { type Cli, CliError } from "./cli.ts";
import type { KeyService } from "./key-service.ts";
import { declare } from "./program.ts";
import { advance, type Ending, newProgress, outcomesOf } from "./progress.ts";
import type { Beginning } from "./protocol.ts";
import type { RunRequest, Step } from "./run.ts";

/** Resources the engine works on at once. The gateway enforces the order that the API requires. */
const PARALLEL = 64;

/** The gateway holds each poll until the action ends, so the plugin may poll early and often. */
export const PROVIDER_CONFIG = { pollInterval: "50ms", pollFunction: "constant" };

export const PROVIDER = { version: VERSIONS.hcloud, config: PROVIDER_CONFIG };

/** What an operation works with. */
export interface Workbench {
  readonly home: EngineHome;
  readonly stack: Stack;
  readonly cli: Cli;
  readonly keys: KeyService;
  /** Called when the command line has read the state: from then on the cloud may be changed. */
  readonly onStart: () => void;
  readonly onStep: (step: Step) => void;
  /** Whether the operation was asked to stop, so that it does not matter how it ends. */
  readonly isInterrupted: () => boolean;
}

/**
 * Starts the command line, waits for the request, carries it out, and returns the outcome of each unit. Throws if the command
 * line ends before it has read the state: then nothing has happened.
 */
export async function operate(bench: Workbench, { mode, access, plugin }: Beginning, requested: Promise<RunRequest>) {
  const { home, keys, cli } = bench;
  // The command line requires that the stack exists; it reads the resources later, when it has its key.
  await writeState(backendFile(home), renderCheckpoint([], home.stack));
  cli.environment = { ...cliEnvironment(home, access), ...keys.environment, ...plugin };
  const command = new Command(bench, mode);
  const request = await Promise.race([requested, command.ended.then(failEarly)]);
  await removeLocks(home);
  const { units, existing } = narrow(request);
  const records = recordsFor(existing, units, { stack: home.stack, provider: PROVIDER });
  await writeState(backendFile(home), renderCheckpoint(records, home.stack));
  keys.release();
  command.units.resolve(units);
  const ending = await command.ended.then(
    (): Ending => ({ ok: true, output: "" }),
    (error: unknown) => {
      if (!command.hasStarted) throw error;
      return endingOf(error, bench.isInterrupted());
    },
  );
  return outcomesOf(command.progress, [...request.units.map(unitOf), ...request.removals], ending);
}

function failEarly(): never {
  throw new Error("the command line ended before the run");
}

/** The command line, from its start to its end. */
class Command {
  readonly units = Promise.withResolvers<RunRequest["units"]>();
  readonly progress = newProgress();
  readonly ended: Promise<unknown>;
  /** Whether it has read the state and asked for the program. */
  hasStarted = false;

  constructor({ stack, home, onStart, onStep }: Workbench, mode: Beginning["mode"]) {
    const options = {
      program: async () => {
        this.hasStarted = true;
        onStart();
        for (const unit of await this.units.promise) declare(unit);
      },
      // Limits the run to units. Without targets it could also change the stack resource itself.
      target: [unitsPattern(home.stack)],
      parallel: PARALLEL,
      continueOnError: true,
      suppressProgress: true,
      onEvent: (event: Parameters<typeof advance>[1]) => {
        const step = advance(this.progress, event);
        if (step) onStep(step);
      },
    };
    this.ended = mode === "apply" ? stack.up(options) : stack.preview(options);
  }
}

function endingOf(error: unknown, isInterrupted: boolean): Ending {
  if (isInterrupted) {
    const message = "the run exceeded its deadline and was interrupted";
    return { ok: false, output: message, failure: { code: "deadline", message, retry: "soon" } };
  }
  if (error instanceof CliError && error.exitCode !== null) return { ok: false, output: error.message };
  const message = error instanceof Error ? error.message : String(error);
  return { ok: false, output: message, failure: { code: "engine", message, retry: "backoff" } };
}
