/** The entry point of this folder: provides the pinned binaries and returns their paths. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { linkTo } from "./cache.ts";
import { thisHost } from "./host.ts";
import { type Progress, provisionTools } from "./provision.ts";
import { describeTools, forEachTool, type ModuleFiles, type ToolName, type Tools, toolNames } from "./tools.ts";

export { ToolchainError } from "./errors.ts";
export type { ToolName } from "./tools.ts";

/** Paths of the pinned binaries. */
export interface Toolchain {
  /** Every tool has a path; only the requested tools are guaranteed to exist there. */
  readonly paths: Readonly<Record<ToolName, string>>;
  /** A folder for PATH, with all tools except the plugin. */
  readonly binDir: string;
  /** Value of PULUMI_HOME with which the engine finds the hcloud plugin. */
  readonly pulumiHome: string;
}

/** Other API server versions that LOTSE_KUBERNETES may select. They are always built. */
export const otherApiServers = ["1.34", "1.35", "1.37"] as const;

const goDir = fileURLToPath(new URL("go", import.meta.url));

/**
 * Provides the tools in their pinned versions by download or, failing that, by build. Takes milliseconds if they exist
 * already, and many minutes if all of them must be built, so pass a `report`. Rejects with a ToolchainError that says
 * what the user can do.
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

/**
 * Reads the pins of this checkout for a platform such as "linux-x64". `apiServer` selects another API server version.
 */
export function loadTools(platform: string, apiServer?: string): Tools {
  return describeTools(readModule, platform, apiServer);
}

function readModule(name: string): ModuleFiles {
  const dir = join(goDir, name);
  const names = readdirSync(dir).filter((file) => file === "go.mod" || file === "go.sum" || file.endsWith(".go"));
  return Object.fromEntries(names.map((file) => [file, readFileSync(join(dir, file), "utf8")]));
}
