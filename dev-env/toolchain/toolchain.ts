import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { linkTo } from "./cache.ts";
import { thisHost } from "./host.ts";
import { type Progress, provisionTools } from "./provision.ts";
import { describeTools, forEachTool, type ModuleFiles, type ToolName, type Tools, toolNames } from "./tools.ts";

export { ToolchainError } from "./errors.ts";
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

/** Versions of the API server besides the pinned one, as LOTSE_KUBERNETES names them. They are built, never downloaded. */
export const otherApiServers = ["1.34", "1.35", "1.37"] as const;

const goDir = fileURLToPath(new URL("go", import.meta.url));

/**
 * Makes sure that the tools are on this machine in their pinned versions: downloaded, or else built. Takes milliseconds
 * when they are there, many minutes when all are built for the first time, so give it a `report`. Rejects with a
 * ToolchainError that says what a person can do.
 */
export async function ensureToolchain(
  wanted: readonly ToolName[] = toolNames,
  report: (progress: Progress) => void = () => {},
): Promise<Toolchain> {
  const { env, platform } = thisHost;
  const tools = loadTools(platform, env.LOTSE_KUBERNETES);
  const site = { url: env.LOTSE_DOWNLOADS || "https://github.com", silenceMs: 5_000 };
  const cache = await provisionTools({ tools, wanted, goDir, site, host: thisHost, report });
  return {
    paths: forEachTool((name) => linkTo(cache, tools[name])),
    binDir: cache.binDir,
    pulumiHome: cache.pulumiHome,
  };
}

/** Reads what is pinned in this checkout, for a platform such as "linux-x64", with another API server if one is named. */
export function loadTools(platform: string, apiServer?: string): Tools {
  return describeTools(readModule, platform, apiServer);
}

function readModule(name: string): ModuleFiles {
  const dir = join(goDir, name);
  const names = readdirSync(dir).filter((file) => file === "go.mod" || file === "go.sum" || file.endsWith(".go"));
  return Object.fromEntries(names.map((file) => [file, readFileSync(join(dir, file), "utf8")]));
}
