/**
 * One operation of the command line. It may begin before anybody knows what it is for: the command line starts and waits
 * for its key, which it gets together with the request. What a run has to wait for is then the run alone.
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

/** How many resources the engine works on at once; the order that the API needs is kept in the gateway. */
const PARALLEL = 64;

/** Answers of running actions come through the gateway as they arrive, so the plugin may look early and often. */
export const PROVIDER_CONFIG = { pollInterval: "50ms", pollFunction: "constant" };

const PROVIDER = { version: VERSIONS.hcloud, config: PROVIDER_CONFIG };

/** What every operation of a worker shares. */
export interface Workbench {
  readonly home: EngineHome;
  readonly stack: Stack;
  readonly cli: Cli;
  readonly keys: KeyService;
  readonly onStep: (step: Step) => void;
}

/** What is known of an operation before its request. */
export interface Beginning extends Pick<RunRequest, "mode" | "access"> {
  /** Waited for first. There is one operation at a time: they share folders, key and channel. */
  readonly after?: Promise<void> | undefined;
}

export class Operation {
  readonly #bench: Workbench;
  readonly #beginning: Beginning;
  readonly #program = Promise.withResolvers<ReturnType<typeof programOf>>();
  readonly #progress = newProgress();
  readonly #abort = new AbortController();
  readonly #prepared: Promise<void>;
  readonly #done: Promise<unknown>;
  #plugin: WarmPlugin | undefined;
  #isOver = false;
  #isDeclaring = false;
  #wasInterrupted = false;

  /** Starts plugin and command line. */
  constructor(bench: Workbench, beginning: Beginning) {
    this.#bench = bench;
    this.#beginning = beginning;
    this.#prepared = this.#prepare();
    this.#done = this.#prepared
      .then(() => this.#start())
      .finally(() => {
        this.#isOver = true;
      });
    this.#done.catch(() => {}); // whoever runs it hears of it, and nobody else has to
    this.#program.promise.catch(() => {}); // likewise
  }

  /** Whether it waits for just such a request. */
  isReadyFor({ mode, access }: RunRequest): boolean {
    const isMeant = this.#beginning.mode === mode && this.#beginning.access.token === access.token;
    return isMeant && !this.#isOver && this.#plugin?.isRunning !== false;
  }

  /** True when it ended before it came to its program, and not because it was told to: nothing has happened yet. */
  get diedWaiting(): boolean {
    return this.#isOver && !this.#isDeclaring && !this.#wasInterrupted;
  }

  /** Carries the request out, and returns what became of its units. */
  async run(request: RunRequest): Promise<RunReport["outcomes"]> {
    const ended = await this.#ending(() => this.#withState(request));
    this.#plugin?.stop();
    return outcomesOf(this.#progress, [...request.units.map(unitOf), ...request.removals], ended);
  }

  /** Asks it to stop: it finishes what is in flight and starts nothing more. */
  interrupt(): void {
    this.#wasInterrupted = true;
    this.#bench.cli.interrupt();
  }

  /** Ends it at once. Nothing is lost as long as it has no request. */
  async discard(): Promise<void> {
    this.#abort.abort();
    this.#program.reject(new Error("the operation was ended before it began"));
    this.#plugin?.stop();
    await this.#done.catch(() => {}); // that it was ended is no news
    endPlugins(this.#bench.home.directory); // a command line that was killed could not
  }

  async #prepare(): Promise<void> {
    const { home, cli, keys } = this.#bench;
    const { access, after } = this.#beginning;
    await after;
    keys.hold();
    const environment = cliEnvironment(home, access);
    this.#plugin = new WarmPlugin(pluginFile(home), environment);
    cli.environment = { ...environment, ...keys.environment, ...(await this.#plugin.environment()) };
    // The command line wants to see that there is a stack; it reads what is in it when it has its key.
    await writeState(backendFile(home), renderCheckpoint([], home.stack));
  }

  #start(): Promise<unknown> {
    if (this.#wasInterrupted) this.#abort.abort();
    const { home, stack, onStep } = this.#bench;
    const options = {
      program: async () => {
        this.#isDeclaring = true;
        return (await this.#program.promise)();
      },
      // What a run may touch is what it sees. Without a target it could touch the stack itself as well.
      target: [unitsPattern(home.stack)],
      parallel: PARALLEL,
      continueOnError: true,
      suppressProgress: true,
      signal: this.#abort.signal,
      onEvent: (event: Parameters<typeof advance>[1]) => {
        const step = advance(this.#progress, event);
        if (step) onStep(step);
      },
    };
    return this.#beginning.mode === "apply" ? stack.up(options) : stack.preview(options);
  }

  /**
   * Lets the command line work on the part of the state that the request is about, and keeps what became of it. The rest of the
   * state is looked at while the command line reads its part; nothing is declared before it was found to be in order.
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
      await this.#done;
    } finally {
      if (request.mode === "apply") {
        const after = parseCheckpoint(await readState(file));
        await writeState(stateFile(home), renderCheckpoint(merge(state, excerpt, after), home.stack));
      }
    }
  }

  async #ending(work: () => Promise<void>): Promise<Ending> {
    try {
      await work();
      return { ok: true, output: "" };
    } catch (error) {
      await this.discard();
      if (this.#wasInterrupted) {
        const message = "the run was ended because it took too long";
        return { ok: false, output: message, failure: { code: "deadline", message, retry: "soon" } };
      }
      if (error instanceof CliError) return { ok: false, output: error.message };
      const message = error instanceof Error ? error.message : String(error);
      return { ok: false, output: message, failure: { code: "engine", message, retry: "backoff" } };
    }
  }
}
