/**
 * The process of one run: hosts the automation API and the inline program. When the channel to its parent closes, it kills
 * itself, the command line and the plugins.
 */
import { rmSync } from "node:fs";
import { LocalWorkspace, Stack } from "@pulumi/pulumi/automation/index.js";
import sdkLog from "@pulumi/pulumi/log/index.js";
import { type EngineHome, folders, pruneHistory } from "../state/workspace.ts";
import { PROJECT } from "../units/names.ts";
import { Cli } from "./cli.ts";
import { KEY_SETTINGS, KeyService } from "./key-service.ts";
import { endPlugins } from "./leftovers.ts";
import { operate, PROVIDER_CONFIG } from "./operation.ts";
import type { Beginning, FromWorker, ToWorker } from "./protocol.ts";
import type { RunRequest, Step } from "./run.ts";

// Without a parent there is nothing to do: it has died.
if (!process.connected) process.exit();

// The SDK sends six debug messages per resource to the engine, which sends them back: a tenth of a run's time.
Object.assign(sdkLog, { debug: async () => {} });

const home = JSON.parse(process.argv[2] ?? "") as EngineHome;
const cli = new Cli(home.pulumi);
const requested = Promise.withResolvers<RunRequest>();
let isInterrupted = false;

process.on("disconnect", endGroup);
process.on("message", (message: ToWorker) => {
  switch (message.kind) {
    case "begin":
      void work(message.beginning).catch(fail);
      return;
    case "run":
      requested.resolve(message.request);
      return;
    case "interrupt":
      isInterrupted = true;
      cli.interrupt();
  }
});

async function work(beginning: Beginning): Promise<void> {
  const { project, home: pulumiHome } = folders(home);
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
  const onStart = () => send({ kind: "started" });
  const onStep = (step: Step) => send({ kind: "step", step });
  const bench = { home, stack, cli, keys, onStart, onStep, isInterrupted: () => isInterrupted };
  const outcomes = await operate(bench, beginning, requested.promise);
  await pruneHistory(home);
  send({ kind: "done", outcomes });
}

function send(message: FromWorker): void {
  process.send?.(message);
}

function fail(error: unknown): void {
  const message = error instanceof Error ? error.message : String(error);
  process.send?.({ kind: "failed", message } satisfies FromWorker, endGroup);
}

/**
 * Kills the process group of this worker, and the plugins. Deletes a scratch folder, which nothing else would, once the
 * command line can no longer write to it.
 */
function endGroup(): void {
  cli.kill();
  endPlugins(home.directory);
  try {
    if (home.isScratch && !process.connected) rmSync(home.directory, { recursive: true, force: true, maxRetries: 5 });
  } finally {
    process.kill(-process.pid, "SIGKILL");
  }
}
