/** Images as containerd keeps them: imported once, and then given to every machine as hard links. */
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { copyFile, mkdir, mkdtempDisposable, readdir, readFile, rename, rm, stat, utimes } from "node:fs/promises";
import { extname, join } from "node:path";
import { withLock } from "../../toolchain/lock.ts";
import { run } from "../../toolchain/run.ts";
import type { Toolchain } from "../../toolchain/toolchain.ts";
import { shortHash } from "../../toolchain/tools.ts";

/** An image that can be built. */
export interface Image {
  /** Its name and a digest of everything it is made from. */
  readonly key: string;
  /** Writes it as an archive. The folder is empty, and deleted afterwards. */
  readonly write: (dir: string, archive: string) => Promise<void>;
}

/** A short digest of files and texts, for the key of an image. */
export async function digestOf(files: readonly string[], also: readonly string[]): Promise<string> {
  const hash = createHash("sha256").update(JSON.stringify(also));
  for (const file of files) hash.update(await readFile(file));
  return hash.digest("hex").slice(0, 12);
}

/** How many stores to keep: one per combination of images that was used recently. Another world may still need a new one. */
const KEPT = 3;
const NEW_MS = 3_600_000;

/** Runs containerd only for the imports, in its own namespaces. */
const IMPORT = `
set -e
containerd=$1 ctr=$2 root=$3
shift 3
mount -t tmpfs tmpfs /run
printf 'version = 3\\nroot = "%s"\\n[plugins."io.containerd.internal.v1.opt"]\\npath = "/run/opt"\\n' "$root" > /run/config.toml
"$containerd" --config /run/config.toml --log-level error >&2 &
until "$ctr" version > /dev/null 2>&1; do kill -0 $! || exit 1; sleep 0.1; done
for archive; do "$ctr" --namespace k8s.io images import --local "$archive" > /dev/null; done
kill $! && wait $! || true
`;

/** Builds and imports these images, unless that has been done before. Returns the folder of the store. */
export async function prepareStore(images: readonly Image[], tools: Toolchain, cacheDir: string): Promise<string> {
  const store = join(cacheDir, `store-${shortHash(images.map(({ key }) => key))}`);
  await withLock(join(cacheDir, "lock"), async () => {
    if (!existsSync(store)) await importInto(store, images, tools);
    await utimes(store, new Date(), new Date());
    await removeOld(cacheDir);
  });
  return store;
}

async function importInto(store: string, images: readonly Image[], { paths }: Toolchain): Promise<void> {
  await using dir = await mkdtempDisposable(`${store}.`);
  const archives = images.map((_, index) => join(dir.path, `${index}.tar`));
  for (const [index, archive] of archives.entries()) {
    const folder = join(dir.path, String(index));
    await mkdir(folder);
    await images[index]?.write(folder, archive);
  }
  const root = join(dir.path, "store");
  const isolate = ["--mount", "--pid", "--fork", "--kill-child", "--mount-proc"];
  await run("unshare", [...isolate, "sh", "-c", IMPORT, "import", paths.containerd, paths.ctr, root, ...archives]);
  await rename(root, store);
}

/** Removes stores that were not used recently, and those that a killed import left: no other import runs now. */
export async function removeOld(cacheDir: string): Promise<void> {
  const all = (await readdir(cacheDir)).filter((name) => name.startsWith("store-")).map((it) => join(cacheDir, it));
  const unfinished = all.filter((path) => extname(path) !== "");
  const stores = all.filter((path) => extname(path) === "");
  const dated = await Promise.all(stores.map(async (path) => ({ path, usedAt: (await stat(path)).mtimeMs })));
  const others = dated.sort((a, b) => b.usedAt - a.usedAt).slice(KEPT);
  const old = others.filter(({ usedAt }) => usedAt < Date.now() - NEW_MS);
  for (const path of [...unfinished, ...old.map((it) => it.path)]) await rm(path, { recursive: true, force: true });
}

/**
 * Gives a machine its images. Layers are never written to, so that machines can share them; databases are copied. The
 * folder must be on the same file system as the store.
 */
export async function linkStore(store: string, target: string): Promise<void> {
  await run("cp", ["--archive", "--link", store, target]);
  const files = await readdir(target, { recursive: false, withFileTypes: true });
  for (const { name } of files.filter((it) => it.isDirectory())) {
    const databases = (await readdir(join(target, name))).filter((file) => file.endsWith(".db"));
    for (const file of databases) {
      await rm(join(target, name, file));
      await copyFile(join(store, name, file), join(target, name, file));
    }
  }
}
