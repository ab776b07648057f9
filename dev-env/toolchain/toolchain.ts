import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { linkTo } from "./cache.ts";
import { thisHost } from "./host.ts";
import { type Progress, provisionTools } from "./provision.ts";
import {
  describeTools,
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

async function readModule(name: string): Promise<ModuleFiles> {
  const dir = join(goDir, name);
  const names = (await readdir(dir)).filter((file) => file === "go.mod" || file === "go.sum" || file.endsWith(".go"));
  return Object.fromEntries(
    await Promise.all(names.map(async (file) => [file, await readFile(join(dir, file), "utf8")] as const)),
  );
}
