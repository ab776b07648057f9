/**
 * One `pulumi` operation, started ahead of its request to hide the start-up time: plugin and command line start at
 * once, and the command line blocks at the key service, before it reads the state, until `run` releases the key.
 */
import type { Stack } from "@pulumi/pulumi/automation/index.js";
import { parseCheckpoint, reconcile, renderCheckpoint } from "../state/checkpoint.ts";
import { merge, narrow } from "../state/excerpt.ts";
import { VERSIONS } from "../state/versions.ts";
import {
  backendFile,
  cliEnvironment,
  type EngineHome,
  pluginFile,
  readState,
  removeLocks,
  stateFile,
  writeState,
} from "../state/workspace.ts";
import { unitOf, unitsPattern } from "../units/names.ts";
import { type Cli, CliError } from "./cli.ts";
import type { KeyService } from "./key-service.ts";
import { endPlugins } from "./leftovers.ts";
import { programOf } from "./program.ts";
import { advance, type Ending, newProgress, outcomesOf } from "./progress.ts";
import type { RunReport, RunRequest, Step } from "./run.ts";
import { WarmPlugin } from "./warm-plugin.ts";

/** Resources the engine works on at once. The gateway enforces the order that the API requires. */
const PARALLEL = 64;

/** The gateway holds each poll until the action ends, so the plugin may poll early and often. */
export const PROVIDER_CONFIG = { pollInterval: "50ms", pollFunction: "constant" };

const PROVIDER = { version: VERSIONS.hcloud, config: PROVIDER_CONFIG };

/** What all operations of a worker share. */
export interface Workbench {
  readonly home: EngineHome;
  readonly stack: Stack;
  readonly cli: Cli;
  readonly keys: KeyService;
  readonly onStep: (step: Step) => void;
}

/** What is known of an operation before its request. */
export interface Beginning extends Pick<RunRequest, "mode" | "access"> {
  /** Awaited first. Operations share folders, key service and command line, so there is only one at a time. */
  readonly after?: Promise<void> | undefined;
}

type State =
  /** Waits for its predecessor to end, then starts the plugin. */
  | { readonly name: "preparing" }
  /** The command line has not asked for the program yet: it is starting, or blocked at the key service. */
  | { readonly name: "waiting"; readonly plugin: WarmPlugin }
  /** The command line runs the program; from now on the cloud may have been changed. */
  | { readonly name: "running" }
  /** The command line ended before it ran the program: nothing has happened. */
  | { readonly name: "died" }
  /** The command line ended after it ran the program. */
  | { readonly name: "finished" }
  /** Asked to stop. Final: it does not matter how the operation ends. */
  | { readonly name: "interrupted" };

/** An operation from its start ahead of a request to its end. */
export class Operation {
  readonly #bench: Workbench;
  readonly #beginning: Beginning;
  readonly #progress = newProgress();
  readonly #program = Promise.withResolvers<ReturnType<typeof programOf>>();
  /** Kills plugin and command line. */
  readonly #kill = new AbortController();
  readonly #prepared: Promise<void>;
  readonly #ended: Promise<void>;
  #state: State = { name: "preparing" };

  /** Starts plugin and command line. */
  constructor(bench: Workbench, beginning: Beginning) {
    this.#bench = bench;
    this.#beginning = beginning;
    this.#prepared = this.#prepare();
    this.#ended = this.#execute();
    // `run` reports failures; without a request there is nothing to report.
    this.#ended.catch(() => {});
    this.#program.promise.catch(() => {});
  }

  /** Whether `run` may be called with this request. */
  isReadyFor({ mode, access }: RunRequest): boolean {
    if (this.#beginning.mode !== mode || this.#beginning.access.token !== access.token) return false;
    return this.#state.name === "preparing" || (this.#state.name === "waiting" && this.#state.plugin.isRunning);
  }

  /** Whether the operation ended by itself before it changed anything, so that the request can be repeated. */
  get hasDied(): boolean {
    return this.#state.name === "died";
  }

  /** Carries out the request and returns the outcome of each unit. */
  async run(request: RunRequest): Promise<RunReport["outcomes"]> {
    const ending = await this.#runToEnd(request);
    return outcomesOf(this.#progress, [...request.units.map(unitOf), ...request.removals], ending);
  }

  /** Asks the command line to stop: it finishes requests in flight and starts no others. */
  interrupt(): void {
    this.#state = { name: "interrupted" };
    this.#bench.cli.interrupt();
  }

  /** Kills the operation. Safe as long as it has no request. */
  async discard(): Promise<void> {
    this.#kill.abort();
    this.#program.reject(new Error("the operation was discarded"));
    await this.#ended.catch(() => {}); // it failed because it was killed
    endPlugins(this.#bench.home.directory); // a killed command line leaves its own plugins behind
  }

  async #prepare(): Promise<void> {
    const { home, cli, keys } = this.#bench;
    const { access, after } = this.#beginning;
    await after;
    keys.hold();
    const environment = cliEnvironment(home, access);
    const plugin = new WarmPlugin(pluginFile(home), environment, this.#kill.signal);
    cli.environment = { ...environment, ...keys.environment, ...(await plugin.environment()) };
    // The command line requires that the stack exists; it reads the resources later, when it has its key.
    await writeState(backendFile(home), renderCheckpoint([], home.stack));
    this.#enter({ name: "waiting", plugin });
  }

  /** Runs the command line from its start to its end. */
  async #execute(): Promise<void> {
    const { stack } = this.#bench;
    try {
      await this.#prepared;
      if (this.#state.name === "interrupted") this.#kill.abort();
      await (this.#beginning.mode === "apply" ? stack.up(this.#options()) : stack.preview(this.#options()));
    } finally {
      this.#kill.abort(); // ends the plugin
      this.#enter({ name: this.#state.name === "running" ? "finished" : "died" });
    }
  }

  #options() {
    const { home, onStep } = this.#bench;
    return {
      program: async () => {
        this.#enter({ name: "running" });
        return (await this.#program.promise)();
      },
      // Limits the run to units. Without targets it could also change the stack resource itself.
      target: [unitsPattern(home.stack)],
      parallel: PARALLEL,
      continueOnError: true,
      suppressProgress: true,
      signal: this.#kill.signal,
      onEvent: (event: Parameters<typeof advance>[1]) => {
        const step = advance(this.#progress, event);
        if (step) onStep(step);
      },
    };
  }

  #enter(state: State): void {
    if (this.#state.name !== "interrupted") this.#state = state;
  }

  /**
   * Gives the command line the excerpt of the state that the request is about, and merges the result back. The rest of
   * the state is parsed while the command line reads the excerpt; the program is withheld until that has succeeded.
   */
  async #withState(request: RunRequest): Promise<void> {
    const { home, keys } = this.#bench;
    await this.#prepared;
    await removeLocks(home);
    const context = { stack: home.stack, provider: PROVIDER };
    const narrowed = narrow(request);
    const excerpt = reconcile([], narrowed, context);
    const file = backendFile(home);
    await writeState(file, renderCheckpoint(excerpt, home.stack));
    keys.release();
    const state = reconcile(parseCheckpoint(await readState(stateFile(home))), request, context);
    try {
      this.#program.resolve(programOf(narrowed));
      await this.#ended;
    } finally {
      if (request.mode === "apply") {
        const after = parseCheckpoint(await readState(file));
        await writeState(stateFile(home), renderCheckpoint(merge(state, excerpt, after), home.stack));
      }
    }
  }

  async #runToEnd(request: RunRequest): Promise<Ending> {
    try {
      await this.#withState(request);
      return { ok: true, output: "" };
    } catch (error) {
      await this.discard();
      if (this.#state.name === "interrupted") {
        const message = "the run exceeded its deadline and was interrupted";
        return { ok: false, output: message, failure: { code: "deadline", message, retry: "soon" } };
      }
      if (error instanceof CliError) return { ok: false, output: error.message };
      const message = error instanceof Error ? error.message : String(error);
      return { ok: false, output: message, failure: { code: "engine", message, retry: "backoff" } };
    }
  }
}
