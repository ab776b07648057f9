/** The engine as the controller sees it: one run at a time, in a worker process that may die at any time. */
import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { constants } from "node:fs";
import { access } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { StateStore } from "../state/state-store.ts";
import { VERSIONS } from "../state/versions.ts";
import {
  type EngineHome,
  prepareFolders,
  readState,
  stateFile,
  workerEnvironment,
  writeState,
} from "../state/workspace.ts";
import { unitOf } from "../units/names.ts";
import type { UnitId } from "../units/spec.ts";
import { endPlugins } from "./leftovers.ts";
import type { FromWorker, ToWorker } from "./protocol.ts";
import type { Failure, RunReport, RunRequest, Step, UnitOutcome } from "./run.ts";

/** Limits and callbacks of an engine. */
export interface EngineOptions {
  readonly home: EngineHome;
  /** A run that takes longer is interrupted, and after `graceMs` killed. */
  readonly deadlineMs: number;
  /** How long an interrupted run may take to end. */
  readonly graceMs: number;
  /** Where the state is kept between processes. If absent, it is rebuilt from the cloud. */
  readonly store?: StateStore;
  /** A worker above this size is replaced after its run, because the SDK retains everything a program declared. */
  readonly maxWorkerBytes: number;
  /** Called at every start of a worker. */
  readonly onWorker?: () => void;
}

/** The default young generation would take a sixth of the worker's memory, and programs allocate little. */
const WORKER_FLAGS = ["--max-semi-space-size=1"];
const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));

/** Runs requests on the cluster's stack. A failure of the engine itself is reported as the outcome of every unit. */
export class Engine {
  readonly #options: EngineOptions;
  #worker: Promise<ChildProcess> | undefined;
  #running = false;

  constructor(options: EngineOptions) {
    this.#options = options;
  }

  /** Prepares the folders and starts a worker. Throws if a binary is missing or has the wrong version. */
  async start(): Promise<void> {
    const { home } = this.#options;
    await requirePlugin(home);
    await prepareFolders(home);
    const state = await this.#options.store?.load();
    if (state !== undefined) await writeState(stateFile(home), state);
    await this.#ready().catch(() => this.#ready()); // one retry, in case the worker was killed
  }

  /** Starts plugin and command line for a run with this access. The run need not follow, and needs no warm-up. */
  async warm(access: RunRequest["access"]): Promise<void> {
    const worker = await this.#worker?.catch(() => undefined); // the next run reports it
    if (worker && !this.#running) send(worker, { kind: "warm", access });
  }

  /** Saves the state of the last run in the store. Not to be called during a run. */
  async saveState(): Promise<void> {
    const { home, store } = this.#options;
    const state = store && (await readState(stateFile(home)));
    if (state !== undefined) await store?.save(state);
  }

  /** Ends the worker and everything it started. A run in progress fails. */
  async stop(): Promise<void> {
    const worker = await this.#worker?.catch(() => undefined);
    this.#worker = undefined;
    if (worker) await endGroup(worker, this.#options.home);
  }

  /** Runs one request. Throws only if another run is in progress. */
  async run(request: RunRequest, onStep: (step: Step) => void = () => {}): Promise<RunReport> {
    if (this.#running) throw new Error("the engine runs one request at a time");
    this.#running = true;
    const started = performance.now();
    try {
      const worker = await this.#ready();
      return await this.#exchange(worker, request, onStep);
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error);
      const code = error instanceof EngineFailure ? error.code : "engine";
      const busy = error instanceof EngineFailure ? error.busy : new Set<UnitId>();
      const durationMs = Math.round(performance.now() - started);
      return { outcomes: allFailed(request, { code, message, retry: "soon" }, busy), durationMs };
    } finally {
      this.#running = false;
    }
  }

  /** Returns a live worker, replacing one that died while idle. */
  async #ready(): Promise<ChildProcess> {
    const worker = await this.#current();
    if (worker.connected) return worker;
    this.#replace(worker);
    return this.#current();
  }

  #current(): Promise<ChildProcess> {
    this.#worker ??= startWorker(this.#options).catch((error: unknown) => {
      this.#worker = undefined;
      throw error;
    });
    return this.#worker;
  }

  async #exchange(worker: ChildProcess, request: RunRequest, onStep: (step: Step) => void): Promise<RunReport> {
    const { deadlineMs, graceMs } = this.#options;
    const done = Promise.withResolvers<RunReport>();
    const busy = new BusyUnits();
    const onMessage = (message: FromWorker) => {
      if (message.kind === "step") {
        busy.note(message.step);
        onStep(message.step);
      }
      if (message.kind === "done") {
        if (message.residentBytes > this.#options.maxWorkerBytes) this.#replace(worker);
        done.resolve(message.report);
      }
    };
    const onExit = () => {
      this.#replace(worker); // its command line and plugins may still be running
      done.reject(new EngineFailure("worker-died", "the engine's worker process exited during the run", busy.units));
    };
    worker.on("message", onMessage).on("exit", onExit);
    const interrupt = setTimeout(() => send(worker, { kind: "interrupt" }), deadlineMs);
    const kill = setTimeout(() => {
      this.#replace(worker);
      done.reject(
        new EngineFailure(
          "deadline",
          `the run did not finish within ${Math.round(deadlineMs / 1000)} s and was killed`,
          busy.units,
        ),
      );
    }, deadlineMs + graceMs);
    send(worker, { kind: "run", request });
    try {
      return await done.promise;
    } finally {
      clearTimeout(interrupt);
      clearTimeout(kill);
      worker.off("message", onMessage).off("exit", onExit);
    }
  }

  /** Ends a worker and starts a new one in the background. */
  #replace(worker: ChildProcess): void {
    this.#worker = endGroup(worker, this.#options.home).then(async () => {
      await prepareFolders(this.#options.home);
      return startWorker(this.#options);
    });
    this.#worker.catch(() => {
      this.#worker = undefined;
    });
  }
}

/** The run failed as a whole, while these units were being changed. */
class EngineFailure extends Error {
  readonly code: string;
  readonly busy: ReadonlySet<UnitId>;
  constructor(code: string, message: string, busy: ReadonlySet<UnitId>) {
    super(message);
    this.code = code;
    this.busy = busy;
  }
}

/** Tracks steps that have started and not ended. */
class BusyUnits {
  readonly #open = new Map<string, UnitId>();

  note({ unit, part, phase }: Step): void {
    const key = `${unit}#${part}`;
    if (phase === "started") this.#open.set(key, unit);
    else this.#open.delete(key);
  }

  get units(): ReadonlySet<UnitId> {
    return new Set(this.#open.values());
  }
}

async function startWorker({ home, onWorker }: EngineOptions): Promise<ChildProcess> {
  onWorker?.();
  // In its own process group, so that worker and command line can be killed together.
  const worker = fork(WORKER, [JSON.stringify(home)], {
    detached: true,
    execArgv: WORKER_FLAGS,
    env: workerEnvironment(home, process.env),
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  let output = "";
  for (const stream of [worker.stdout, worker.stderr]) {
    stream?.setEncoding("utf8").on("data", (text: string) => {
      output = (output + text).slice(-4_000);
    });
  }
  const exited = once(worker, "exit").then(() => {
    throw new Error(`the engine's worker failed to start: ${output.trim() || "no output"}`);
  });
  const [ready] = (await Promise.race([once(worker, "message"), exited])) as [FromWorker];
  exited.catch(() => {}); // from here on, the run detects an exit
  if (ready.kind === "ready" && ready.cliVersion !== VERSIONS.pulumi) {
    await endGroup(worker, home);
    throw new Error(`pulumi ${ready.cliVersion} does not match the SDK ${VERSIONS.pulumi}: run "npm run setup"`);
  }
  return worker;
}

/** Fails early with a clear error. The engine would try to download the plugin, or take one from PATH. */
async function requirePlugin({ plugins }: EngineHome): Promise<void> {
  const plugin = join(plugins, `resource-hcloud-v${VERSIONS.hcloud}`, "pulumi-resource-hcloud");
  await access(plugin, constants.X_OK).catch((cause: unknown) => {
    throw new Error(`hcloud plugin ${VERSIONS.hcloud} not found at ${plugin}: run "npm run setup"`, { cause });
  });
}

async function endGroup(worker: ChildProcess, home: EngineHome): Promise<void> {
  if (worker.pid === undefined) return;
  const exited = worker.exitCode !== null || worker.signalCode !== null ? undefined : once(worker, "exit");
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
function allFailed(request: RunRequest, failure: Failure, busy: ReadonlySet<UnitId>): Record<string, UnitOutcome> {
  const units = [...request.units.map(unitOf), ...request.removals];
  const outcomeOf = (unit: UnitId): UnitOutcome => ({
    status: "failed",
    changes: [],
    failure: busy.has(unit) && failure.code === "deadline" ? { ...failure, retry: "backoff" } : failure,
  });
  return Object.fromEntries(units.map((unit) => [unit, outcomeOf(unit)]));
}
