/** The engine as the controller sees it: one run at a time, in a worker process that may die at any moment. */
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

export interface EngineOptions {
  readonly home: EngineHome;
  /** A run that takes longer is interrupted, and killed if that does not end it. */
  readonly deadlineMs: number;
  /** How long an interrupted run may take to end by itself. */
  readonly graceMs: number;
  /** Where the state is kept between processes; absent means that it is rebuilt from the cloud each time. */
  readonly store?: StateStore;
  /** A worker that takes more memory after a run is replaced: the SDK keeps what was declared, and Node gives little back. */
  readonly maxWorkerBytes: number;
  /** Told of every start of a worker. */
  readonly onWorker?: () => void;
}

/** What a program declares is short-lived and little; the default room for it alone is a sixth of the worker's memory. */
const WORKER_FLAGS = ["--max-semi-space-size=1"];
const WORKER = fileURLToPath(new URL("./worker.ts", import.meta.url));

/** Runs programs against the cluster's stack. `run` never throws: whatever happens, each unit gets an outcome. */
export class Engine {
  readonly #options: EngineOptions;
  #worker: Promise<ChildProcess> | undefined;
  #running = false;

  constructor(options: EngineOptions) {
    this.#options = options;
  }

  /** Prepares the folders and a warm worker. Throws when a binary does not fit. */
  async start(): Promise<void> {
    const { home } = this.#options;
    await requirePlugin(home);
    await prepareFolders(home);
    const state = await this.#options.store?.load();
    if (state !== undefined) await writeState(stateFile(home), state);
    await this.#ready().catch(() => this.#ready()); // it may have died by accident; twice is no accident
  }

  /** Gets ready for a run that will have this access. It may as well never come, or come without notice. */
  async warm(access: RunRequest["access"]): Promise<void> {
    const worker = await this.#worker?.catch(() => undefined); // whoever runs next hears of it
    if (worker && !this.#running) send(worker, { kind: "warm", access });
  }

  /** Keeps the state as the last run left it. Not while a run is under way. */
  async saveState(): Promise<void> {
    const { home, store } = this.#options;
    const state = store && (await readState(stateFile(home)));
    if (state !== undefined) await store?.save(state);
  }

  /** Ends the worker with everything it started. A run under way ends as failed. */
  async stop(): Promise<void> {
    const worker = await this.#worker?.catch(() => undefined);
    this.#worker = undefined;
    if (worker) await endGroup(worker, this.#options.home);
  }

  /** Runs one request. Callers take turns: a second run while one is under way is a mistake of the caller. */
  async run(request: RunRequest, onStep: (step: Step) => void = () => {}): Promise<RunReport> {
    if (this.#running) throw new Error("the engine runs one request at a time");
    this.#running = true;
    const started = performance.now();
    try {
      const worker = await this.#ready();
      return await this.#converse(worker, request, onStep);
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

  /** A worker that listens. One that died while it had nothing to do is replaced first. */
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

  async #converse(worker: ChildProcess, request: RunRequest, onStep: (step: Step) => void): Promise<RunReport> {
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
      this.#replace(worker); // its command line and plugins may still be there
      done.reject(new EngineFailure("worker-died", "the engine's process ended during the run", busy.units));
    };
    worker.on("message", onMessage).on("exit", onExit);
    const interrupt = setTimeout(() => send(worker, { kind: "interrupt" }), deadlineMs);
    const kill = setTimeout(() => {
      this.#replace(worker);
      done.reject(
        new EngineFailure("deadline", `the run did not end within ${Math.round(deadlineMs / 1000)} s`, busy.units),
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

  /** Ends a worker and lets the next run, or the next moment, start a fresh one. */
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

/** What ended a run from outside, and the units it was working on. */
class EngineFailure extends Error {
  readonly code: string;
  readonly busy: ReadonlySet<UnitId>;
  constructor(code: string, message: string, busy: ReadonlySet<UnitId>) {
    super(message);
    this.code = code;
    this.busy = busy;
  }
}

/** Keeps track of steps that have begun and not ended. */
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
  // A group of its own, so that worker, command line and plugins can be ended together.
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
    throw new Error(`the engine's worker did not start: ${output.trim() || "no output"}`);
  });
  const [ready] = (await Promise.race([once(worker, "message"), exited])) as [FromWorker];
  exited.catch(() => {}); // the run in progress notices an exit itself
  if (ready.kind === "ready" && ready.cliVersion !== VERSIONS.pulumi) {
    await endGroup(worker, home);
    throw new Error(
      `pulumi is ${ready.cliVersion}, and the SDK ${VERSIONS.pulumi}: both must be the same. Run "npm run setup"`,
    );
  }
  return worker;
}

/** Fails early and clearly where the engine would try to download a plugin, or take one from PATH by luck. */
async function requirePlugin({ plugins }: EngineHome): Promise<void> {
  const plugin = join(plugins, `resource-hcloud-v${VERSIONS.hcloud}`, "pulumi-resource-hcloud");
  await access(plugin, constants.X_OK).catch((cause: unknown) => {
    throw new Error(`the hcloud plugin ${VERSIONS.hcloud} is not at ${plugin}: run "npm run setup"`, { cause });
  });
}

async function endGroup(worker: ChildProcess, home: EngineHome): Promise<void> {
  if (worker.pid === undefined) return;
  const gone = worker.exitCode !== null || worker.signalCode !== null ? undefined : once(worker, "exit");
  try {
    process.kill(-worker.pid, "SIGKILL");
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
  }
  await gone;
  endPlugins(home.directory);
}

function send(worker: ChildProcess, message: ToWorker): void {
  if (worker.connected) worker.send(message);
}

/** Units that were being worked on may be what held the run up: they wait longer than those that only stood in line. */
function allFailed(request: RunRequest, failure: Failure, busy: ReadonlySet<UnitId>): Record<string, UnitOutcome> {
  const units = [...request.units.map(unitOf), ...request.removals];
  const outcomeOf = (unit: UnitId): UnitOutcome => ({
    status: "failed",
    changes: [],
    failure: busy.has(unit) && failure.code === "deadline" ? { ...failure, retry: "backoff" } : failure,
  });
  return Object.fromEntries(units.map((unit) => [unit, outcomeOf(unit)]));
}
