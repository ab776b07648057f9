import { randomUUID } from "node:crypto";
import { link, mkdir, readFile, rename, rm, stat, symlink, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { shortHash, type Tool, type ToolName, type Tools, toolNames } from "./tools.ts";

/** Where a binary came from. */
export type Source = "assets" | "cache" | "path" | "download" | "build";

/** A binary of the wanted version, proven to run. */
export interface Found {
  readonly path: string;
  readonly version: string;
  readonly source: Source;
}

/** What the index remembers of a binary; size and time tell, without running it, whether it is still the same file. */
export interface Remembered extends Found {
  readonly size: number;
  readonly modifiedMs: number;
}

/** Content of `toolchain.json`. The controller reads it too (see README.md), so its fields are a format with users. */
export interface Index {
  readonly format: 1;
  readonly binDir: string;
  readonly pulumiHome: string;
  readonly tools: Readonly<Partial<Record<ToolName, Remembered>>>;
}

/** Folders of the cache for one set of pins. Other pins use other folders below the same root. */
export interface Cache {
  readonly root: string;
  readonly lockFile: string;
  /** Half-made things. Only the holder of the lock writes here. */
  readonly tmpDir: string;
  readonly setDir: string;
  readonly binDir: string;
  readonly pulumiHome: string;
}

/** Lays out the cache for these tools. `env` decides on its root and on a set of its own for KUBEBUILDER_ASSETS. */
export function layOutCache(tools: Tools, env: Readonly<Record<string, string | undefined>>): Cache {
  const root = resolve(env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"), "lotse");
  const set = shortHash([env.KUBEBUILDER_ASSETS ?? "", ...toolNames.map((name) => tools[name].key)]);
  const setDir = join(root, "sets", set);
  return {
    root,
    lockFile: join(root, "lock"),
    tmpDir: join(root, "tmp"),
    setDir,
    binDir: join(setDir, "bin"),
    pulumiHome: join(setDir, "pulumi-home"),
  };
}

/** The folder in which a downloaded or built tool lives, under its own name. */
export function storeDir(cache: Cache, tool: Tool): string {
  return join(cache.root, "store", `${tool.name}-${tool.version}-${tool.key}`);
}

/** What is remembered of a tool if its file is still the same and linked; undefined asks for a new search. */
export async function recall(cache: Cache, index: Index, tool: Tool): Promise<Remembered | undefined> {
  const entry = index.tools[tool.name];
  if (entry === undefined) return undefined;
  try {
    const [file, linked] = await Promise.all([stat(entry.path), stat(linkTo(cache, tool))]);
    const isUnchanged = file.size === entry.size && file.mtimeMs === entry.modifiedMs;
    return isUnchanged && file.ino === linked.ino && file.dev === linked.dev ? entry : undefined;
  } catch {
    return undefined; // The file or its link is gone.
  }
}

/** Reads the index of this set. A missing, torn or foreign one counts as empty: it is only a memory. */
export async function readIndex(cache: Cache): Promise<Index> {
  const empty: Index = { format: 1, binDir: cache.binDir, pulumiHome: cache.pulumiHome, tools: {} };
  try {
    const index: unknown = JSON.parse(await readFile(indexFile(cache.setDir), "utf8"));
    return isIndex(index) ? { ...empty, tools: index.tools } : empty;
  } catch {
    return empty;
  }
}

function isIndex(value: unknown): value is Index {
  return typeof value === "object" && value !== null && "format" in value && value.format === 1 && "tools" in value;
}

/** Links a tool into the set and adds it to the index. The caller holds the lock. */
export async function remember(cache: Cache, tool: Tool, found: Found): Promise<void> {
  await replaceLink(cache, found.path, linkTo(cache, tool));
  const { size, mtimeMs } = await stat(found.path);
  const index = await readIndex(cache);
  const entry: Remembered = { ...found, size, modifiedMs: mtimeMs };
  await writeText(indexFile(cache.setDir), asText({ ...index, tools: { ...index.tools, [tool.name]: entry } }));
}

/** Makes this set the one that programs outside the checkout find at the root of the cache. */
export async function publishIndex(cache: Cache, index: Index): Promise<void> {
  const text = asText(index);
  const published = await readFile(indexFile(cache.root), "utf8").catch(() => "");
  if (published !== text) await writeText(indexFile(cache.root), text);
}

/** An empty folder for half-made things. */
export async function freshTmpDir(cache: Cache, name: string): Promise<string> {
  const path = join(cache.tmpDir, name);
  await rm(path, { recursive: true, force: true });
  await mkdir(path, { recursive: true });
  return path;
}

/** Moves a finished folder into the store in one step, over whatever is broken there. Returns the tool's path. */
export async function moveToStore(cache: Cache, tool: Tool, finishedDir: string): Promise<string> {
  const target = storeDir(cache, tool);
  await mkdir(dirname(target), { recursive: true });
  await rm(target, { recursive: true, force: true });
  await rename(finishedDir, target);
  return join(target, tool.name);
}

/** Creates the folders that everything else relies on. */
export async function prepareCache(cache: Cache): Promise<void> {
  await Promise.all([cache.binDir, cache.pulumiHome].map((dir) => mkdir(dir, { recursive: true })));
}

/**
 * Where the set has its link to a tool. The plugin is not in `binDir`: the engine prefers a plugin on PATH to the one
 * in PULUMI_HOME, and warns about it in every run.
 */
export function linkTo(cache: Cache, tool: Tool): string {
  if (tool.name !== "pulumi-resource-hcloud") return join(cache.binDir, tool.name);
  return join(cache.pulumiHome, "plugins", `resource-hcloud-v${tool.version}`, tool.name);
}

/**
 * What is ours is linked hard: the CLI follows symbolic links to find out where it is, and looks there, beside itself,
 * for its language host. What is not ours may change, so it is linked by name.
 */
async function replaceLink(cache: Cache, target: string, path: string): Promise<void> {
  const fresh = join(await freshTmpDir(cache, "link"), "link");
  await mkdir(dirname(path), { recursive: true });
  await (target.startsWith(cache.root) ? link(target, fresh) : symlink(target, fresh));
  await rename(fresh, path);
}

/** Readers see the old text or the new one, never half of it. */
async function writeText(file: string, text: string): Promise<void> {
  const fresh = `${file}.${randomUUID()}`;
  await writeFile(fresh, text);
  await rename(fresh, file);
}

const indexFile = (dir: string) => join(dir, "toolchain.json");
const asText = (index: Index) => `${JSON.stringify(index, undefined, 2)}\n`;
