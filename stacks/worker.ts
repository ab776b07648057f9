/**
 * The engine's worker process: hosts the automation API and the inline program, runs one request at a time.
 * It ends, and takes the command line and its plugins along, as soon as the channel to its parent closes.
 */
import { rmSync } from "node:fs";
import hcloudPackage from "@pulumi/hcloud/package.json" with { type: "json" };
import { LocalWorkspace, PulumiCommand, Stack } from "@pulumi/pulumi/automation/index.js";
import { parseCheckpoint, reconcile, renderCheckpoint } from "./checkpoint.ts";
import { Cli, CliError } from "./cli.ts";
import { merge, narrow } from "./excerpt.ts";
import { KEY_SETTINGS, startKeyService } from "./key-service.ts";
import { endPlugins } from "./leftovers.ts";
import { componentUrn, PROJECT, partsPattern, unitOf } from "./names.ts";
import { programOf } from "./program.ts";
import { advance, type Ending, newProgress, outcomesOf } from "./progress.ts";
import type { FromWorker, ToWorker } from "./protocol.ts";
import type { RunReport, RunRequest } from "./run.ts";
import type { UnitId } from "./spec.ts";
import { WarmPlugin } from "./warm-plugin.ts";
import {
  backendFile,
  cliEnvironment,
  type EngineHome,
  folders,
  pluginFile,
  pruneHistory,
  readState,
  removeLocks,
  stateFile,
  writeState,
} from "./workspace.ts";

/** How many resources the engine works on at once; the order that the API needs is kept in the gateway. */
const PARALLEL = 64;

/** Answers of running actions come through the gateway as they arrive, so the plugin may look early and often. */
const PROVIDER_CONFIG = { pollInterval: "50ms", pollFunction: "constant" };

const PROVIDER_VERSION = hcloudPackage.version;

/** Matches no resource. A pattern, because the engine refuses a plain name that it does not find. */
const NOTHING = `urn:pulumi:none::${PROJECT}::lotse:index:Nothing::*`;

const home = JSON.parse(process.argv[2] ?? "") as EngineHome;
let environment: Record<string, string> = {};
let wasInterrupted = false;
let warm: WarmPlugin | undefined;
const keyAccess = await startKeyService();
const cli = new Cli(await PulumiCommand.get());
const stack = await openStack();

process.on("disconnect", endGroup);
process.on("message", (message: ToWorker) => {
  switch (message.kind) {
    case "warm":
      warm?.stop();
      warm = new WarmPlugin(pluginFile(home), message.access.token, cliEnvironment(home, message.access));
      return;
    case "interrupt":
      wasInterrupted = true;
      cli.interrupt();
      return;
    case "run":
      void run(message.request).then((report) =>
        send({ kind: "done", report, heapUsed: process.memoryUsage().heapUsed }),
      );
  }
});
send({ kind: "ready", cliVersion: stack.workspace.pulumiVersion });

async function openStack(): Promise<Stack> {
  const { project, home: pulumiHome } = folders(home);
  const workspace = await LocalWorkspace.create({
    workDir: project,
    pulumiHome,
    pulumiCommand: cli.command(() => environment),
    projectSettings: { name: PROJECT, runtime: "nodejs" },
    stackSettings: { [home.stack]: { ...KEY_SETTINGS, config: stackConfig() } },
  });
  return Stack.select(home.stack, workspace);
}

function stackConfig(): Record<string, string> {
  return Object.fromEntries(Object.entries(PROVIDER_CONFIG).map(([key, value]) => [`hcloud:${key}`, value]));
}

async function run(request: RunRequest): Promise<RunReport> {
  const started = performance.now();
  const progress = newProgress();
  const units = [...request.units.map(unitOf), ...request.removals];
  const plugin = warm?.token === request.access.token ? warm : undefined;
  environment = { ...cliEnvironment(home, request.access), ...keyAccess, ...(await plugin?.environment()) };
  wasInterrupted = false;
  const options = {
    program: programOf(narrow(request)),
    target: targetsOf(units),
    parallel: PARALLEL,
    continueOnError: true,
    suppressProgress: true,
    onEvent: (event: Parameters<typeof advance>[1]) => {
      const step = advance(progress, event);
      if (step) send({ kind: "step", step });
    },
  };
  const ended = await ending(() =>
    withState(request, () => (request.mode === "apply" ? stack.up(options) : stack.preview(options))),
  );
  plugin?.stop();
  if (!ended.ok) endPlugins(home.directory); // a command line that was killed could not
  await pruneHistory(home);
  return {
    outcomes: outcomesOf(progress, units, ended),
    durationMs: Math.round(performance.now() - started),
  };
}

/** Lets work happen on the part of the state that the request is about, and keeps what became of it. */
async function withState(request: RunRequest, work: () => Promise<unknown>): Promise<void> {
  await removeLocks(home);
  const context = { stack: home.stack, provider: { version: PROVIDER_VERSION, config: PROVIDER_CONFIG } };
  const state = reconcile(parseCheckpoint(await readState(stateFile(home))), request, context);
  const [root, provider] = state;
  const excerpt = reconcile([root, provider], narrow(request), context);
  const file = backendFile(home);
  await writeState(file, renderCheckpoint(excerpt, home.stack));
  try {
    await work();
  } finally {
    const after = request.mode === "apply" ? parseCheckpoint(await readState(file)) : excerpt;
    await writeState(stateFile(home), renderCheckpoint(merge(state, excerpt, after), home.stack));
  }
}

/**
 * The URNs that a run may touch. There is always one, even if nothing has its name: a run without targets would delete
 * whatever it does not declare. The stack itself must not be among them: that would mean everything in it.
 */
function targetsOf(units: readonly UnitId[]): string[] {
  const { stack: name } = home;
  return [NOTHING, ...units.flatMap((unit) => [componentUrn(name, unit), partsPattern(name, unit)])];
}

async function ending(work: () => Promise<void>): Promise<Ending> {
  try {
    await work();
    return { ok: true, output: "" };
  } catch (error) {
    if (wasInterrupted) {
      const message = "the run was ended because it took too long";
      return { ok: false, output: message, failure: { code: "deadline", message, retry: "soon" } };
    }
    if (error instanceof CliError) return { ok: false, output: error.message };
    const message = error instanceof Error ? error.message : String(error);
    return { ok: false, output: message, failure: { code: "engine", message, retry: "backoff" } };
  }
}

function send(message: FromWorker): void {
  process.send?.(message);
}

/** Ends the process group this worker leads: itself, the command line and the plugins. Nobody else would clean up scratch. */
function endGroup(): void {
  endPlugins(home.directory);
  if (home.isScratch) rmSync(home.directory, { recursive: true, force: true });
  process.kill(-process.pid, "SIGKILL");
}
