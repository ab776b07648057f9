/** Provides tools from the store, by download, or by build, in this order. */
import { existsSync } from "node:fs";
import { mkdir, rm } from "node:fs/promises";
import { buildTool } from "./build.ts";
import { type Cache, layOutCache, linkFromStore, linkTo, publishSet } from "./cache.ts";
import { DownloadError, type DownloadSite, downloadArchive } from "./download.ts";
import { explainFileError, explainMissing } from "./errors.ts";
import type { Host } from "./host.ts";
import { withLock } from "./lock.ts";
import { type Tool, type ToolName, type Tools, toolNames } from "./tools.ts";

/** A progress event; `label` is the name and version of a tool or an archive. */
export type Progress =
  | { readonly phase: "waiting" }
  | { readonly phase: "downloading"; readonly label: string }
  /** `remainingMs` estimates the time for all builds that remain. */
  | { readonly phase: "building"; readonly label: string; readonly remainingMs: number }
  | { readonly phase: "downloaded" | "built"; readonly label: string; readonly elapsedMs: number }
  | { readonly phase: "not-downloaded"; readonly label: string; readonly reason: string };

/** Which tools to provide, and how. */
export interface Provision {
  /** All tools, because the set is identified by all of their versions. */
  readonly tools: Tools;
  readonly wanted: readonly ToolName[];
  /** The folder with the Go modules. */
  readonly goDir: string;
  readonly site: DownloadSite;
  readonly host: Host;
  readonly report: (progress: Progress) => void;
  /** Whether other programs shall find this set of tools; by default they do. */
  readonly isPublished?: boolean;
}

/** Provides the wanted tools and returns the cache that holds their links. Rejects with a ToolchainError. */
export async function provisionTools(provision: Provision): Promise<Cache> {
  const { tools, wanted, host, report } = provision;
  const cache = layOutCache(tools, host.env);
  const selected = toolNames.filter((name) => wanted.includes(name)).map((name) => tools[name]);
  const missing = () => selected.filter((tool) => !existsSync(linkTo(cache, tool)));
  const onWait = () => report({ phase: "waiting" });
  try {
    await mkdir(cache.root, { recursive: true });
    if (missing().length > 0) await withLock(cache.lockFile, () => provide(missing(), provision, cache), { onWait });
    if (provision.isPublished ?? true) await publishSet(cache);
  } catch (error) {
    throw explainFileError(error, cache.root);
  }
  return cache;
}

/** Provides the missing tools. The caller holds the lock. */
async function provide(tools: readonly Tool[], provision: Provision, cache: Cache): Promise<void> {
  try {
    const unstored = await linkStored(tools, cache);
    const failures = await download(unstored, provision, cache);
    await build(await linkStored(unstored, cache), failures, provision, cache);
  } finally {
    // No other process writes there while this one holds the lock, so this also cleans up after a killed process.
    await rm(cache.tmpDir, { recursive: true, force: true });
  }
}

/** Links the tools that are in the store. Returns the others. */
async function linkStored(tools: readonly Tool[], cache: Cache): Promise<readonly Tool[]> {
  const missing: Tool[] = [];
  for (const tool of tools) if (!(await linkFromStore(cache, tool))) missing.push(tool);
  return missing;
}

/** Downloads the archives of these tools into the store. Returns the reasons for failed downloads. */
async function download(
  tools: readonly Tool[],
  { site, host, report }: Provision,
  cache: Cache,
): Promise<readonly string[]> {
  const failures: string[] = [];
  for (const archive of new Set(tools.flatMap((tool) => tool.archive ?? []))) {
    const { label } = archive;
    const startedMs = performance.now();
    report({ phase: "downloading", label });
    try {
      await downloadArchive(archive, site, cache, host);
      report({ phase: "downloaded", label, elapsedMs: performance.now() - startedMs });
    } catch (error) {
      if (!(error instanceof DownloadError)) throw error;
      failures.push(error.message);
      report({ phase: "not-downloaded", label, reason: error.message });
      if (error.isUnreachable) break;
    }
  }
  return failures;
}

async function build(
  tools: readonly Tool[],
  failures: readonly string[],
  { goDir, host, report }: Provision,
  cache: Cache,
): Promise<void> {
  const firstMs = performance.now();
  for (const [index, tool] of tools.entries()) {
    const label = `${tool.name} ${tool.version}`;
    const startedMs = performance.now();
    // How much slower this machine builds than the one the estimates come from, known after the first build.
    const pace = index === 0 ? 1 : (startedMs - firstMs) / estimateMs(tools.slice(0, index));
    report({ phase: "building", label, remainingMs: estimateMs(tools.slice(index)) * pace });
    const noGo = await buildTool(tool, goDir, cache, host);
    if (noGo !== undefined) throw explainMissing(tools, [...failures, noGo]);
    await linkFromStore(cache, tool);
    report({ phase: "built", label, elapsedMs: performance.now() - startedMs });
  }
}

const estimateMs = (tools: readonly Tool[]) => tools.reduce((sum, tool) => sum + tool.buildSeconds * 1000, 0);
