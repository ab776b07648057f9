/** The stack for the plain command line: a local backend whose state says what the cloud says. */

import type { RunRequest } from "../engine/run.ts";
import { rootUrn } from "../units/names.ts";
import { reconcile, renderCheckpoint } from "./checkpoint.ts";
import { VERSIONS } from "./versions.ts";
import { backendFile, cliEnvironment, type EngineHome, prepareFolders, removeLocks, writeState } from "./workspace.ts";

/** What a backend is made from: every unit that is wanted, or to be removed, and what exists of it. */
export type BackendContent = Pick<RunRequest, "units" | "removals" | "existing" | "nodes">;

/** Variables that belong to the engine's own runs. */
const OWN = new Set([
  "USER",
  "PATH",
  "HOME",
  "PULUMI_EXPERIMENTAL",
  "PULUMI_SKIP_CHECKPOINTS",
  "PULUMI_IGNORE_AMBIENT_PLUGINS",
]);

/** Writes the backend into the home's folder. Returns the environment with which `pulumi` uses it. */
export async function writeBackend(home: EngineHome, content: BackendContent): Promise<Record<string, string>> {
  await prepareFolders(home);
  await removeLocks(home);
  const request: RunRequest = { mode: "preview", access: { endpoint: "", token: "" }, ...content };
  // Without settings of the stack's own: the provider is what the plain command line makes of it.
  const context = { stack: home.stack, provider: { version: VERSIONS.hcloud, config: {} } };
  const resources = reconcile([], request, context).map((record) =>
    record.urn === rootUrn(home.stack) ? { ...record, outputs: { nodes: content.nodes } } : record,
  );
  await writeState(backendFile(home), renderCheckpoint(resources, home.stack));
  return Object.fromEntries(Object.entries(cliEnvironment(home)).filter(([name]) => !OWN.has(name)));
}
