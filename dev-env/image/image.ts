/** The image for all architectures: builds its files and packs them. */
import { execFileSync } from "node:child_process";
import { mkdtempDisposable, readdir } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { partsOf, provideBase } from "./base.ts";
import { type ImageSource, writeLayer, writeLayout } from "./oci.ts";
import { buildTrees, type Tree, type TreeOptions } from "./tree.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The time of all files in the image, in seconds since 1970: SOURCE_DATE_EPOCH, or that of the commit. */
export function sourceTime(env: Readonly<Record<string, string | undefined>> = process.env): number {
  const text =
    env.SOURCE_DATE_EPOCH ?? execFileSync("git", ["-C", ROOT, "log", "-1", "--format=%ct"], { encoding: "utf8" });
  if (!/^\d+\s*$/.test(text)) throw new Error(`SOURCE_DATE_EPOCH: "${text}" is not a number of seconds`);
  return Number(text);
}

/**
 * Writes the image as an OCI layout, a folder. Equal sources result in equal images. Returns its digest, and what it
 * starts from: the base image, or packages.
 */
export async function writeImage(options: TreeOptions & { readonly seconds: number }, layout: string) {
  await using dir = await mkdtempDisposable(join(tmpdir(), "lotse-image-"));
  const sources: ImageSource[] = [];
  for (const tree of await buildTrees(dir.path, options)) sources.push(await packTree(tree, options.seconds));
  const digest = await writeLayout(sources, layout);
  return { digest, base: [...new Set(sources.flatMap(({ base }) => (base ? partsOf(base) : [])))] };
}

/** Packs files as layers, one per folder at the top, so that an upgrade pulls only what has changed. */
export async function packTree({ architecture, root, base, config }: Tree, seconds: number): Promise<ImageSource> {
  const layers: string[] = [];
  for (const folder of (await readdir(root)).sort()) {
    const layer = `${root}-${folder}.tar.gz`;
    await writeLayer({ root, paths: [folder], seconds }, layer);
    layers.push(layer);
  }
  const created = new Date(seconds * 1000).toISOString();
  const labels = { ...config.labels, "org.opencontainers.image.created": created };
  return { architecture, base: await provideBase(base, architecture), layers, config: { ...config, labels } };
}
