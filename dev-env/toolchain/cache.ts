/** The cache of tools on disk: a store of binaries, and sets of links into it. */
import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { link, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { shortHash, storeNamesOf, type Tool, type Tools } from "./tools.ts";

/** Paths of the cache for one set of pinned versions. Each set has its own folders below a common root. */
export interface Cache {
  readonly root: string;
  readonly lockFile: string;
  /** Unfinished downloads and builds. Only the holder of the lock writes here. */
  readonly tmpDir: string;
  readonly binDir: string;
  readonly pulumiHome: string;
}

type Env = Readonly<Record<string, string | undefined>>;

/** The root of all caches, below XDG_CACHE_HOME or ~/.cache. */
export function cacheRoot(env: Env): string {
  return resolve(env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"), "lotse");
}

/** Computes the cache paths for these tools. */
export function layOutCache(tools: Tools, env: Env): Cache {
  const root = cacheRoot(env);
  const setDir = join(root, "sets", shortHash(Object.values(tools).map(storeNamesOf)));
  return {
    root,
    lockFile: join(root, "lock"),
    tmpDir: join(root, "tmp"),
    binDir: join(setDir, "bin"),
    pulumiHome: join(setDir, "pulumi-home"),
  };
}

/**
 * Path of the link to a tool in the set. The plugin is not in `binDir`, because the engine would prefer a plugin on
 * PATH to the one in PULUMI_HOME, and would print a warning in every run.
 */
export function linkTo(cache: Cache, tool: Tool): string {
  if (tool.name !== "pulumi-resource-hcloud") return join(cache.binDir, tool.name);
  return join(cache.pulumiHome, "plugins", `resource-hcloud-v${tool.version}`, tool.name);
}

/** Whether the store has this tool. */
export function isStored(tool: Tool, env: Env): boolean {
  return storeNamesOf(tool).some((name) => existsSync(join(cacheRoot(env), "store", name, tool.name)));
}

/** Links a tool from the store into the set. Returns false if the store does not have it. The caller holds the lock. */
export async function linkFromStore(cache: Cache, tool: Tool): Promise<boolean> {
  const files = storeNamesOf(tool).map((name) => join(cache.root, "store", name, tool.name));
  const stored = files.find((file) => existsSync(file));
  if (stored === undefined) return false;
  const path = linkTo(cache, tool);
  await mkdir(dirname(path), { recursive: true });
  // A hard link, because the CLI resolves symbolic links and then looks for its language host in the store.
  await link(stored, path);
  return true;
}

/** Moves a finished folder into the store by an atomic rename. */
export async function moveToStore(cache: Cache, storeName: string, finishedDir: string): Promise<void> {
  const target = join(cache.root, "store", storeName);
  await mkdir(dirname(target), { recursive: true });
  await rm(target, { recursive: true, force: true });
  await rename(finishedDir, target);
}

/** Creates an empty folder for a download or build. */
export async function freshTmpDir(cache: Cache): Promise<string> {
  await mkdir(cache.tmpDir, { recursive: true });
  return mkdtemp(join(cache.tmpDir, "x-"));
}

/** Writes `toolchain.json`, in which programs that do not import this folder find the current set. */
export async function publishSet({ root, binDir, pulumiHome }: Cache): Promise<void> {
  const file = join(root, "toolchain.json");
  const text = `${JSON.stringify({ format: 1, binDir, pulumiHome }, undefined, 2)}\n`;
  if ((await readFile(file, "utf8").catch(() => "")) === text) return;
  // Write and rename, so that readers never see a partial file.
  const fresh = `${file}.${randomUUID()}`;
  await writeFile(fresh, text);
  await rename(fresh, file);
}
