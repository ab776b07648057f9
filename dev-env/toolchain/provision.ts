import { rm } from "node:fs/promises";
import { buildTool, whyNoGo } from "./build.ts";
import {
  type Cache,
  type Found,
  layOutCache,
  prepareCache,
  publishIndex,
  readIndex,
  recall,
  remember,
  type Source,
} from "./cache.ts";
import { downloadTool, isDownloadable, whyNoDownload } from "./download.ts";
import { ToolchainError } from "./errors.ts";
import { explainFileError, explainMissing } from "./explain.ts";
import { findTool } from "./find.ts";
import type { Host } from "./host.ts";
import { withLock } from "./lock.ts";
import { type Tool, type ToolName, type Tools, toolNames } from "./tools.ts";

/** What happens to one tool right now. `ready` comes exactly once per tool and carries where it came from. */
export type Progress =
  | {
      readonly tool: Tool;
      readonly phase: "waiting" | "searching" | "downloading" | "building";
      readonly elapsedMs: number;
    }
  | { readonly tool: Tool; readonly phase: "ready"; readonly elapsedMs: number; readonly source: Source };

/** What to provide, and with what. */
export interface Provision {
  /** All tools, because together they name the set. */
  readonly tools: Tools;
  readonly wanted: readonly ToolName[];
  /** The folder with the Go modules. */
  readonly goDir: string;
  readonly host: Host;
  readonly report: (progress: Progress) => void;
}

/** Provides the wanted tools and returns the cache that holds their links. Rejects with a ToolchainError. */
export async function provisionTools(provision: Provision): Promise<Cache> {
  const { host, tools } = provision;
  const cache = layOutCache(tools, host.env);
  try {
    await prepareCache(cache);
    await provideMissing(provision, cache);
    await publishIndex(cache, await readIndex(cache));
  } catch (error) {
    throw explainFileError(error, cache);
  }
  return cache;
}

async function provideMissing(provision: Provision, cache: Cache): Promise<void> {
  const run = new ProvisionRun(provision, cache);
  const wanted = new Set(provision.wanted);
  const selected = toolNames.filter((name) => wanted.has(name)).map((name) => provision.tools[name]);
  const missing = await run.recallTools(selected);
  if (missing.length === 0) return;
  const onWait = () => run.reportWaiting(missing);
  await withLock(cache.lockFile, onWait, async () => run.provide(await run.recallTools(missing)));
}

/** One pass through the ways: remembered, found, downloaded, built. Each way gets what the ones before left over. */
class ProvisionRun {
  readonly #provision: Provision;
  readonly #cache: Cache;
  readonly #startedMs = performance.now();
  readonly #notes = new Map<Tool, string[]>();
  #pulumi: Found | undefined;

  constructor(provision: Provision, cache: Cache) {
    this.#provision = provision;
    this.#cache = cache;
  }

  reportWaiting(tools: readonly Tool[]): void {
    for (const tool of tools) this.#provision.report({ tool, phase: "waiting", elapsedMs: this.#elapsed() });
  }

  /** Tools that the index still vouches for are done; returns the others. */
  async recallTools(tools: readonly Tool[]): Promise<readonly Tool[]> {
    const index = await readIndex(this.#cache);
    const missing: Tool[] = [];
    for (const tool of tools) {
      const found = await recall(this.#cache, index, tool);
      const isOurs = found?.source === "build" || found?.source === "download";
      if (found) this.#announce(tool, isOurs ? { ...found, source: "cache" } : found, this.#elapsed());
      else missing.push(tool);
    }
    return missing;
  }

  /** Must hold the lock. */
  async provide(tools: readonly Tool[]): Promise<void> {
    try {
      await this.#build(await this.#download(await this.#find(tools)));
    } finally {
      // Nobody else writes there while we hold the lock, so this also sweeps up after a process that was killed.
      await rm(this.#cache.tmpDir, { recursive: true, force: true });
    }
  }

  async #find(tools: readonly Tool[]): Promise<readonly Tool[]> {
    const { host, report } = this.#provision;
    return this.#remaining(tools, (tool) => {
      report({ tool, phase: "searching", elapsedMs: 0 });
      return findTool(tool, this.#cache, host, this.#pulumi);
    });
  }

  async #download(tools: readonly Tool[]): Promise<readonly Tool[]> {
    const { host, report } = this.#provision;
    const downloadable = tools.filter(isDownloadable);
    if (downloadable.length === 0) return tools;
    const obstacle = await whyNoDownload(host);
    if (obstacle) {
      for (const tool of downloadable) this.#note(tool, [obstacle]);
      return tools;
    }
    const left = await this.#remaining(downloadable, (tool) => {
      report({ tool, phase: "downloading", elapsedMs: 0 });
      return downloadTool(tool, this.#cache, host, this.#pulumi);
    });
    // The language host comes along with a downloaded CLI.
    return this.#find(tools.filter((tool) => left.includes(tool) || !isDownloadable(tool)));
  }

  async #build(tools: readonly Tool[]): Promise<void> {
    if (tools.length === 0) return;
    const { host, goDir, report } = this.#provision;
    const obstacle = await whyNoGo(host);
    if (obstacle) {
      const looked = `on PATH and in ${this.#cache.root}`;
      throw new ToolchainError("no-way", explainMissing(tools, this.#notes, { looked, obstacle }));
    }
    for (const tool of tools) {
      const startedMs = performance.now();
      report({ tool, phase: "building", elapsedMs: 0 });
      await this.#settle(tool, await buildTool(tool, goDir, this.#cache, host), startedMs);
    }
  }

  async #remaining(
    tools: readonly Tool[],
    attempt: (tool: Tool) => ReturnType<typeof findTool>,
  ): Promise<readonly Tool[]> {
    const left: Tool[] = [];
    for (const tool of tools) {
      const startedMs = performance.now();
      const search = await attempt(tool);
      if (search.found) await this.#settle(tool, search.found, startedMs);
      else {
        this.#note(tool, search.notes);
        left.push(tool);
      }
    }
    return left;
  }

  async #settle(tool: Tool, found: Found, startedMs: number): Promise<void> {
    await remember(this.#cache, tool, found);
    this.#announce(tool, found, performance.now() - startedMs);
  }

  #announce(tool: Tool, found: Found, elapsedMs: number): void {
    if (tool.name === "pulumi") this.#pulumi = found;
    this.#provision.report({ tool, phase: "ready", elapsedMs, source: found.source });
  }

  #note(tool: Tool, notes: readonly string[]): void {
    this.#notes.set(tool, [...new Set([...(this.#notes.get(tool) ?? []), ...notes])]);
  }

  #elapsed(): number {
    return performance.now() - this.#startedMs;
  }
}
