/** The engine as the controller sees it: one run at a time, each in a worker process that may die at any time. */
import { type ChildProcess, execFile, fork } from "node:child_process";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { extname } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { VERSIONS } from "../state/versions.ts";
import { cliEnvironment, type EngineHome, pluginFile, prepareFolders, workerEnvironment } from "../state/workspace.ts";
import { unitOf } from "../units/names.ts";
import type { UnitId } from "../units/spec.ts";
import { endPlugins } from "./leftovers.ts";
import type { Beginning, FromWorker, ToWorker } from "./protocol.ts";
import type { RunReport, RunRequest, Step, UnitOutcome } from "./run.ts";
import { WarmPlugin } from "./warm-plugin.ts";

/** Limits and callbacks of an engine. */
export interface EngineOptions {
  readonly home: EngineHome;
  /** A run that takes longer is interrupted, and after `graceMs` killed. */
  readonly deadlineMs: number;
  /** How long an interrupted run may take to end. */
  readonly graceMs: number;
  /** A prepared run that is not requested within this time ends, so that nothing of the engine exists at rest. */
  readonly idleMs: number;
  /** Called at every start of a worker. */
  readonly onWorker?: () => void;
}

/** A file of this folder: TypeScript in a checkout, JavaScript after `npm run build`. */
const besides = (name: string) => new URL(`./${name}${extname(import.meta.url)}`, import.meta.url);
/**
 * The default young generation would take a sixth of the worker's memory. Collecting a small one with several threads costs
 * more than it saves. The SDK captures a stack trace for every promise, which is a seventh of a large run's time.
 */
const COLLECTION = ["--max-semi-space-size=1", "--single-threaded-gc"];
const WORKER_FLAGS = [...COLLECTION, "--stack-trace-limit=0", "--import", besides("slim").href];
const WORKER = fileURLToPath(besides("worker"));
const execute = promisify(execFile);

/** The processes of one run. The worker starts a third one, the command line. */
interface Processes {
  readonly worker: ChildProcess;
  readonly plugin: WarmPlugin;
}

/** Runs requests on the cluster's stack. A failure of the engine itself is reported as the outcome of every unit. */
export class Engine {
  readonly #options: EngineOptions;
  /** The processes of a run that is prepared, which wait for its request. */
  #prepared: { readonly token: string; readonly processes: Promise<Processes> } | undefined;
  /** Ends what is prepared and not requested. */
  #idle: NodeJS.Timeout | undefined;
  #running: Promise<Processes> | undefined;
  #isStopped = false;
  /** Resolves when the processes of earlier runs have ended. All runs use the same folder. */
  #ended: Promise<void> = Promise.resolve();

  constructor(options: EngineOptions) {
    this.#options = options;
  }

  /** Prepares the folders. Throws if a binary is missing or has the wrong version. */
  async start(): Promise<void> {
    await prepareFolders(this.#options.home);
    await requireBinaries(this.#options.home);
  }

  /** Starts worker, plugin and command line for a run with this access. The run need not follow, and needs no preparation. */
  prepare({ endpoint, token }: RunRequest["access"]): void {
    if (this.#running || this.#isStopped) return;
    if (this.#prepared?.token !== token) {
      this.#discard();
      const prepared = { token, processes: this.#start({ mode: "apply", access: { endpoint, token } }) };
      this.#prepared = prepared;
      const forget = () => {
        if (this.#prepared === prepared) this.#discard();
      };
      // Also if they could not be started: then the run tries again.
      prepared.processes.then(({ plugin }) => plugin.ended).then(forget, forget);
    }
    clearTimeout(this.#idle);
    this.#idle = setTimeout(() => this.#discard(), this.#options.idleMs).unref();
  }

  /** Ends everything that the engine has started. A run in progress fails, and so does every later one. */
  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#discard();
    if (this.#running) this.#end(this.#running);
    await this.#ended;
  }

  /** Runs one request. Throws only if another run is in progress. */
  async run(request: RunRequest, onStep: (step: Step) => void = () => {}): Promise<RunReport> {
    if (this.#running) throw new Error("the engine runs one request at a time");
    const started = performance.now();
    const attempt = () => this.#attempt(request, onStep);
    const outcomes = await attempt()
      .catch((error: unknown) => {
        // What was prepared has died before it did anything.
        if (error instanceof EngineFailure && error.isHarmless && !this.#isStopped) return attempt();
        throw error;
      })
      .catch((error: unknown) => failuresOf(request, error));
    return { outcomes, durationMs: Math.round(performance.now() - started) };
  }

  async #attempt(request: RunRequest, onStep: (step: Step) => void): Promise<RunReport["outcomes"]> {
    if (this.#isStopped) throw new Error("the engine has been stopped");
    const { mode, access } = request;
    const isPrepared = mode === "apply" && this.#prepared?.token === access.token;
    if (!isPrepared) this.#discard();
    const processes = this.#prepared?.processes ?? this.#start({ mode, access });
    this.#prepared = undefined;
    clearTimeout(this.#idle);
    this.#running = processes;
    try {
      return await this.#exchange((await processes).worker, request, onStep);
    } finally {
      this.#end(processes);
      this.#running = undefined;
    }
  }

  #start(beginning: Pick<Beginning, "mode" | "access">): Promise<Processes> {
    return this.#ended.then(() => startProcesses(this.#options, beginning));
  }

  #discard(): void {
    clearTimeout(this.#idle);
    if (this.#prepared) this.#end(this.#prepared.processes);
    this.#prepared = undefined;
  }

  /** Ends the processes of a run and everything they have started, in the background. */
  #end(processes: Promise<Processes>): void {
    const nothing = () => {}; // a failed start leaves nothing behind
    this.#ended = processes.then((it) => endProcesses(it, this.#options.home), nothing);
  }

  async #exchange(worker: ChildProcess, request: RunRequest, onStep: (step: Step) => void) {
    const { deadlineMs, graceMs } = this.#options;
    const done = Promise.withResolvers<RunReport["outcomes"]>();
    const busy = new Map<string, UnitId>();
    let hasStarted = false;
    const fail = (code: string, message: string) => {
      const run = { busy: new Set(busy.values()), isHarmless: !hasStarted && code !== "deadline" };
      done.reject(new EngineFailure(code, message, run));
    };
    const onExit = () => fail("worker-died", "the engine's worker process exited during the run");
    // A worker that could not be started never exits, but its channel closes.
    worker.on("exit", onExit).on("disconnect", onExit);
    worker.on("message", (message: FromWorker) => {
      if (message.kind === "started") hasStarted = true;
      if (message.kind === "done") done.resolve(message.outcomes);
      if (message.kind === "failed") fail("engine", message.message);
      if (message.kind !== "step") return;
      noteStep(busy, message.step);
      onStep(message.step);
    });
    const late = `the run did not finish within ${Math.round(deadlineMs / 1000)} s and was killed`;
    const interrupt = setTimeout(() => send(worker, { kind: "interrupt" }), deadlineMs);
    const kill = setTimeout(() => fail("deadline", late), deadlineMs + graceMs);
    if (worker.connected) send(worker, { kind: "run", request });
    else onExit();
    try {
      return await done.promise;
    } finally {
      clearTimeout(interrupt);
      clearTimeout(kill);
      worker.removeAllListeners("message").off("exit", onExit).off("disconnect", onExit);
    }
  }
}

/** The run failed as a whole, while these units were being changed. */
class EngineFailure extends Error {
  readonly code: string;
  readonly busy: ReadonlySet<UnitId>;
  /** Whether nothing can have been changed, and another attempt may do better. */
  readonly isHarmless: boolean;
  constructor(code: string, message: string, run: Pick<EngineFailure, "busy" | "isHarmless">) {
    super(message);
    this.code = code;
    this.busy = run.busy;
    this.isHarmless = run.isHarmless;
  }
}

/** Keeps the units of the steps that have started and not ended. */
function noteStep(busy: Map<string, UnitId>, { unit, part, phase }: Step): void {
  if (phase === "started") busy.set(`${unit}#${part}`, unit);
  else busy.delete(`${unit}#${part}`);
}

/** Starts worker and plugin side by side. */
function startProcesses({ home, onWorker }: EngineOptions, { mode, access }: Omit<Beginning, "plugin">): Processes {
  onWorker?.();
  using started = new DisposableStack();
  const plugin = started.use(new WarmPlugin(pluginFile(home), cliEnvironment(home, access)));
  // In its own process group, so that worker and command line can be killed together.
  const worker = fork(WORKER, [JSON.stringify(home)], {
    detached: true,
    execArgv: WORKER_FLAGS,
    env: workerEnvironment(home, process.env),
    stdio: ["ignore", "ignore", "ignore", "ipc"],
  });
  worker.on("error", () => {}); // an exit follows, or the channel closes
  void plugin.environment().then((variables) => {
    send(worker, { kind: "begin", beginning: { mode, access, plugin: variables } });
  });
  started.move(); // `endProcesses` ends them
  return { worker, plugin };
}

/** Fails early with a clear error. The engine would try to download the plugin, or take one from PATH. */
async function requireBinaries(home: EngineHome): Promise<void> {
  const plugin = pluginFile(home);
  await access(plugin, constants.X_OK).catch((cause: unknown) => {
    throw new Error(`hcloud plugin ${VERSIONS.hcloud} not found at ${plugin}: run "npm run setup"`, { cause });
  });
  const { stdout } = await execute(home.pulumi, ["version"], { env: cliEnvironment(home) });
  const version = stdout.trim().replace(/^v/, "");
  if (version !== VERSIONS.pulumi)
    throw new Error(`pulumi ${version} does not match the SDK ${VERSIONS.pulumi}: run "npm run setup"`);
}

async function endProcesses({ worker, plugin }: Processes, home: EngineHome): Promise<void> {
  plugin[Symbol.dispose]();
  if (worker.pid === undefined) return;
  const hasExited = worker.exitCode !== null || worker.signalCode !== null;
  // Whatever else fails meanwhile, such as a message that breaks off.
  const exited = hasExited ? undefined : new Promise((resolve) => worker.once("exit", resolve));
  try {
    process.kill(-worker.pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
  await exited;
  endPlugins(home.directory);
}

function send(worker: ChildProcess, message: ToWorker): void {
  if (worker.connected) worker.send(message);
}

/** Units that were being changed may have caused the deadline, so they back off; the others are retried soon. */
function failuresOf({ units, removals }: RunRequest, error: unknown): RunReport["outcomes"] {
  const message = error instanceof Error ? error.message : String(error);
  const { code, busy } = error instanceof EngineFailure ? error : { code: "engine", busy: new Set<UnitId>() };
  const outcomeOf = (unit: UnitId): UnitOutcome => {
    const retry = busy.has(unit) && code === "deadline" ? "backoff" : "soon";
    return { status: "failed", changes: [], failure: { code, message, retry } };
  };
  return Object.fromEntries([...units.map(unitOf), ...removals].map((unit) => [unit, outcomeOf(unit)]));
}
