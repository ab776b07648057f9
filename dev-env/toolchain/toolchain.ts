/** The entry point of this folder: provides the pinned binaries and returns their paths. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { isStored, linkTo } from "./cache.ts";
import { thisHost } from "./host.ts";
import { type Progress, provisionTools } from "./provision.ts";
import { commonTools, describeTools, forEachTool, type ModuleFiles, type ToolName, type Tools } from "./tools.ts";

export { ToolchainError } from "./errors.ts";
export { commonTools, imageTools, nodeTools, type ToolName, upstreamTools } from "./tools.ts";

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
const site = { url: thisHost.env.LOTSE_DOWNLOADS || "https://github.com", silenceMs: 5_000 };

/**
 * Provides tools in their pinned versions, by default those that most commands use, by download or, failing that, by
 * build. Takes milliseconds if they exist already, and many minutes if all of them must be built, so pass a `report`.
 * Rejects with a ToolchainError that says what the user can do.
 */
export async function ensureToolchain(
  wanted: readonly ToolName[] = commonTools,
  report: (progress: Progress) => void = () => {},
): Promise<Toolchain> {
  const { env, platform } = thisHost;
  const tools = loadTools(platform, env.LOTSE_KUBERNETES);
  const cache = await provisionTools({ tools, wanted, goDir, site, host: thisHost, report });
  return {
    paths: forEachTool((name) => linkTo(cache, tools[name])),
    binDir: cache.binDir,
    pulumiHome: cache.pulumiHome,
  };
}

/** Architectures of images, by Go's name, and Node's name for each. */
const nodeArch = { amd64: "x64", arm64: "arm64" } as const;

/** An architecture of images. */
export type Architecture = keyof typeof nodeArch;

/** All architectures of images. */
export const architectures: readonly Architecture[] = ["amd64", "arm64"];

const engine = ["pulumi", "pulumi-resource-hcloud"] as const;
type EngineTool = (typeof engine)[number];

/** The architecture of this machine. */
export const thisArchitecture: Architecture = process.arch === "arm64" ? "arm64" : "amd64";

/**
 * Provides engine and plugin for Linux on an architecture, as the Dockerfile does: the engine is compiled, and the plugin is
 * the official binary, or compiled where that cannot be downloaded.
 */
export async function provideEngine(
  architecture: Architecture,
  report: (progress: Progress) => void = () => {},
): Promise<Pick<Toolchain["paths"], EngineTool>> {
  const host = { ...thisHost, platform: `linux-${nodeArch[architecture]}` };
  const tools = engineTools(architecture);
  const cache = await provisionTools({ tools, wanted: engine, goDir, site, host, report, isPublished: false });
  return {
    pulumi: linkTo(cache, tools.pulumi),
    "pulumi-resource-hcloud": linkTo(cache, tools["pulumi-resource-hcloud"]),
  };
}

/** Whether `provideEngine` would return at once. */
export function hasEngine(architecture: Architecture): boolean {
  const tools = engineTools(architecture);
  return engine.every((name) => isStored(tools[name], thisHost.env));
}

function engineTools(architecture: Architecture): Tools {
  const tools = loadTools(`linux-${nodeArch[architecture]}`);
  return { ...tools, pulumi: { ...tools.pulumi, archive: undefined } };
}

/** Whether `ensureToolchain` would return at once, as far as this tool is concerned. */
export function hasTool(name: ToolName): boolean {
  const { env, platform } = thisHost;
  return isStored(loadTools(platform)[name], env);
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
