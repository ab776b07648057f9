import { readdir, readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { buildTool } from "./build.ts";
import { layOutCache, linkTo } from "./cache.ts";
import { findStored } from "./find.ts";
import { thisHost } from "./host.ts";
import { withLock } from "./lock.ts";
import { type Progress, provisionTools } from "./provision.ts";
import {
  describeTools,
  describeVariant,
  forEachTool,
  type ModuleFiles,
  moduleNames,
  type ToolName,
  type Tools,
  toolNames,
} from "./tools.ts";

export { ToolchainError } from "./errors.ts";
export type { Progress } from "./provision.ts";
export type { ToolName } from "./tools.ts";

/** Where the pinned binaries are. */
export interface Toolchain {
  /** Every tool has a path; there is something at it for the tools that were asked for. */
  readonly paths: Readonly<Record<ToolName, string>>;
  /** Holds all tools but the plugin, under their own names: to be put on PATH. */
  readonly binDir: string;
  /** Value for PULUMI_HOME with which the engine finds the hcloud plugin. */
  readonly pulumiHome: string;
}

const goDir = fileURLToPath(new URL("go", import.meta.url));

/**
 * Makes sure that the tools are on this machine in their pinned versions: found, downloaded or built, in this order.
 * Takes milliseconds when they are there, many minutes when all are built for the first time, so give it a `report`.
 * Rejects with a ToolchainError that says what a person can do.
 */
export async function ensureToolchain(
  tools: readonly ToolName[] = toolNames,
  report: (progress: Progress) => void = () => {},
): Promise<Toolchain> {
  const pinned = await loadTools(thisHost.platform);
  const cache = await provisionTools({ tools: pinned, wanted: tools, goDir, host: thisHost, report });
  return {
    paths: forEachTool((name) => linkTo(cache, pinned[name])),
    binDir: cache.binDir,
    pulumiHome: cache.pulumiHome,
  };
}

/** Reads what is pinned in this checkout, for a platform such as "linux-x64". */
export async function loadTools(platform: string): Promise<Tools> {
  const modules = await Promise.all(moduleNames.map(async (name) => [name, await readModule(name)] as const));
  return describeTools(new Map(modules), platform);
}

/** Versions of the API server that can be had besides the pinned one, as "1.34". */
export const otherApiServers = ["1.34", "1.35", "1.37"] as const;

/**
 * Makes sure that an API server of another version is on this machine, and returns the folder that holds it: a value for
 * KUBEBUILDER_ASSETS. Built when it is not there, which takes minutes.
 */
export async function ensureApiServer(version: string): Promise<string> {
  const module = `kubernetes-${version}`;
  const cache = layOutCache(await loadTools(thisHost.platform), thisHost.env);
  const tool = describeVariant("kube-apiserver", module, await readModule(module), thisHost.platform);
  const known = await findStored(tool, cache, thisHost);
  const found =
    known ??
    (await withLock(
      cache.lockFile,
      () => {},
      () => buildTool(tool, goDir, cache, thisHost),
    ));
  return dirname(found.path);
}

async function readModule(name: string): Promise<ModuleFiles> {
  const dir = join(goDir, name);
  const names = (await readdir(dir)).filter((file) => file === "go.mod" || file === "go.sum" || file.endsWith(".go"));
  return Object.fromEntries(
    await Promise.all(names.map(async (file) => [file, await readFile(join(dir, file), "utf8")] as const)),
  );
}
