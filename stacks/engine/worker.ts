/**
 * The engine's worker process: hosts the automation API and the inline program, one request at a time. When the channel
 * to its parent closes, it kills itself, the command line and the plugins.
 */
import { rmSync } from "node:fs";
import { LocalWorkspace, PulumiCommand, Stack } from "@pulumi/pulumi/automation/index.js";
import sdkLog from "@pulumi/pulumi/log/index.js";
import { type EngineHome, folders, pruneHistory } from "../state/workspace.ts";
import { PROJECT } from "../units/names.ts";
import { Cli } from "./cli.ts";
import { KEY_SETTINGS, KeyService } from "./key-service.ts";
import { endPlugins } from "./leftovers.ts";
import { Operation, PROVIDER_CONFIG, type Workbench } from "./operation.ts";
import type { FromWorker, ToWorker } from "./protocol.ts";
import type { RunReport, RunRequest } from "./run.ts";

// Without a parent there is nothing to do: it has died, or this is the image build filling the compile cache.
if (!process.connected) process.exit();

// The SDK sends six debug messages per resource to the engine, which sends them back: a tenth of a run's time.
Object.assign(sdkLog, { debug: async () => {} });

const home = JSON.parse(process.argv[2] ?? "") as EngineHome;
process.on("disconnect", endGroup);
const bench = await setUp();
/** The operation that is running, or that waits for the next request. */
let operation: Operation | undefined;

process.on("message", (message: ToWorker) => {
  switch (message.kind) {
    case "warm":
      begin({ mode: "apply", access: message.access });
      return;
    case "interrupt":
      operation?.interrupt();
      return;
    case "run":
      void run(message.request).then((report) =>
        send({ kind: "done", report, residentBytes: process.memoryUsage.rss() }),
      );
  }
});
send({ kind: "ready", cliVersion: bench.stack.workspace.pulumiVersion });

async function setUp(): Promise<Workbench> {
  const { project, home: pulumiHome } = folders(home);
  const cli = new Cli(await PulumiCommand.get());
  const keys = new KeyService();
  await keys.start();
  const config = Object.entries(PROVIDER_CONFIG).map(([key, value]) => [`hcloud:${key}`, value]);
  const workspace = await LocalWorkspace.create({
    workDir: project,
    pulumiHome,
    pulumiCommand: cli.command,
    projectSettings: { name: PROJECT, runtime: "nodejs" },
    stackSettings: { [home.stack]: { ...KEY_SETTINGS, config: Object.fromEntries(config) } },
  });
  const stack = await Stack.select(home.stack, workspace);
  return { home, stack, cli, keys, onStep: (step) => send({ kind: "step", step }) };
}

/** Starts an operation, discarding one that waits. */
function begin({ mode, access }: Pick<RunRequest, "mode" | "access">): Operation {
  operation = new Operation(bench, { mode, access, after: operation?.discard() });
  return operation;
}

async function run(request: RunRequest): Promise<RunReport> {
  const started = performance.now();
  const ahead = operation?.isReadyFor(request) ? operation : undefined;
  let outcomes = await ahead?.run(request);
  if (!outcomes || ahead?.hasDied) outcomes = await begin(request).run(request);
  operation = undefined;
  await pruneHistory(home);
  return { outcomes, durationMs: Math.round(performance.now() - started) };
}

function send(message: FromWorker): void {
  process.send?.(message);
}

/** Kills the process group of this worker, and the plugins. Deletes a scratch folder, which nothing else would. */
function endGroup(): void {
  endPlugins(home.directory);
  if (home.isScratch) rmSync(home.directory, { recursive: true, force: true });
  process.kill(-process.pid, "SIGKILL");
}
