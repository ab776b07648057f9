import { randomUUID } from "node:crypto";
import { existsSync } from "node:fs";
import { link, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { shortHash, storeNamesOf, type Tool, type Tools } from "./tools.ts";

/** Folders of the cache for one set of pins. Other pins use other folders below the same root. */
export interface Cache {
  readonly root: string;
  readonly lockFile: string;
  /** Half-made things. Only the holder of the lock writes here. */
  readonly tmpDir: string;
  readonly binDir: string;
  readonly pulumiHome: string;
}

/** Lays out the cache for these tools, below the root that `env` names. */
export function layOutCache(tools: Tools, env: Readonly<Record<string, string | undefined>>): Cache {
  const root = resolve(env.XDG_CACHE_HOME || join(env.HOME || homedir(), ".cache"), "lotse");
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
 * Where the set has its link to a tool. The plugin is not in `binDir`: the engine prefers a plugin on PATH to the one
 * in PULUMI_HOME, and warns about it in every run.
 */
export function linkTo(cache: Cache, tool: Tool): string {
  if (tool.name !== "pulumi-resource-hcloud") return join(cache.binDir, tool.name);
  return join(cache.pulumiHome, "plugins", `resource-hcloud-v${tool.version}`, tool.name);
}

/** Links a tool into the set, downloaded or built; false when it is not in the store. The caller holds the lock. */
export async function linkFromStore(cache: Cache, tool: Tool): Promise<boolean> {
  const files = storeNamesOf(tool).map((name) => join(cache.root, "store", name, tool.name));
  const stored = files.find((file) => existsSync(file));
  if (stored === undefined) return false;
  const path = linkTo(cache, tool);
  await mkdir(dirname(path), { recursive: true });
  // A hard link: the CLI follows symbolic ones to find its language host beside itself.
  await link(stored, path);
  return true;
}

/** Moves a finished folder into the store in one step. */
export async function moveToStore(cache: Cache, storeName: string, finishedDir: string): Promise<void> {
  const target = join(cache.root, "store", storeName);
  await mkdir(dirname(target), { recursive: true });
  await rm(target, { recursive: true, force: true });
  await rename(finishedDir, target);
}

/** An empty folder for half-made things. */
export async function freshTmpDir(cache: Cache): Promise<string> {
  await mkdir(cache.tmpDir, { recursive: true });
  return mkdtemp(join(cache.tmpDir, "x-"));
}

/** Makes this set the one that programs outside the checkout find at the root of the cache. */
export async function publishSet({ root, binDir, pulumiHome }: Cache): Promise<void> {
  const file = join(root, "toolchain.json");
  const text = `${JSON.stringify({ format: 1, binDir, pulumiHome }, undefined, 2)}\n`;
  if ((await readFile(file, "utf8").catch(() => "")) === text) return;
  // Readers see the old text or the new one, never half of it.
  const fresh = `${file}.${randomUUID()}`;
  await writeFile(fresh, text);
  await rename(fresh, file);
}
