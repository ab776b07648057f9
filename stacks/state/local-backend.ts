/** A local Pulumi backend for the plain `pulumi` command, with a state built from the cloud. */
import type { RunRequest } from "../engine/run.ts";
import { rootUrn } from "../units/names.ts";
import { reconcile, renderCheckpoint } from "./checkpoint.ts";
import { VERSIONS } from "./versions.ts";
import { backendFile, cliEnvironment, type EngineHome, prepareFolders, removeLocks, writeState } from "./workspace.ts";

/** The content of a backend: all units to make or remove, and what exists of them. */
export type BackendContent = Pick<RunRequest, "units" | "removals" | "existing" | "nodes">;

/** Variables that only the engine's own runs need. */
const OWN = new Set([
  "USER",
  "PATH",
  "HOME",
  "PULUMI_EXPERIMENTAL",
  "PULUMI_SKIP_CHECKPOINTS",
  "PULUMI_IGNORE_AMBIENT_PLUGINS",
]);

/** Writes the backend into the engine's folder. Returns the environment with which `pulumi` uses it. */
export async function writeBackend(home: EngineHome, content: BackendContent): Promise<Record<string, string>> {
  await prepareFolders(home);
  await removeLocks(home);
  const request: RunRequest = { mode: "preview", access: { endpoint: "", token: "" }, ...content };
  // No provider settings: the plain command line does not set any either.
  const context = { stack: home.stack, provider: { version: VERSIONS.hcloud, config: {} } };
  const resources = reconcile([], request, context).map((record) =>
    record.urn === rootUrn(home.stack) ? { ...record, outputs: { nodes: content.nodes } } : record,
  );
  await writeState(backendFile(home), renderCheckpoint(resources, home.stack));
  return Object.fromEntries(Object.entries(cliEnvironment(home)).filter(([name]) => !OWN.has(name)));
}
