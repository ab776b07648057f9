/** Downloads a release archive, verifies its digest, and stores its tools. */
import { createHash } from "node:crypto";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { buffer, text } from "node:stream/consumers";
import { type Archive, findDigest } from "./archives.ts";
import { type Cache, freshTmpDir, moveToStore } from "./cache.ts";
import type { Host } from "./host.ts";

/** Where archives are downloaded from: GitHub, or a mirror with the same paths. */
export interface DownloadSite {
  readonly url: string;
  /** A site that sends no data for this long is considered unreachable. */
  readonly silenceMs: number;
}

/** An archive could not be downloaded, for the reason in the message. */
export class DownloadError extends Error {
  override readonly name = "DownloadError";
  /** The site did not respond, so downloading other archives from it is pointless. */
  readonly isUnreachable: boolean;

  constructor(message: string, isUnreachable = false) {
    super(message);
    this.isUnreachable = isUnreachable;
  }
}

const hashes: Readonly<Record<number, string>> = { 40: "sha1", 64: "sha256", 128: "sha512" };
const maxDownloadMs = 10 * 60_000;

/** Downloads an archive, checks its digest and moves its tools into the store. Rejects with a DownloadError. */
export async function downloadArchive(archive: Archive, site: DownloadSite, cache: Cache, host: Host): Promise<void> {
  const expected = archive.digest ?? (await publishedDigest(archive, site));
  const content = await buffer(receive(archive, archive.file, site));
  const actual = createHash(hashes[expected.length] ?? "sha256")
    .update(content)
    .digest("hex");
  if (actual !== expected) {
    throw new DownloadError(`${archive.file}: digest ${actual} does not match the expected ${expected}`);
  }
  const dir = await freshTmpDir(cache);
  const file = join(dir, archive.file);
  await writeFile(file, content);
  const result = await host.run("tar", ["-xzf", file, "-C", dir, "--no-same-owner"]);
  if (result.kind !== "ok") throw new DownloadError(`${archive.file}: could not be unpacked: ${result.output.trim()}`);
  await keepTools(archive, dir, cache);
}

/** Moves the tools, and nothing else from the archive, into the store. */
async function keepTools(archive: Archive, dir: string, cache: Cache): Promise<void> {
  const kept = join(dir, "kept");
  await mkdir(kept);
  for (const tool of archive.tools) {
    await rename(join(dir, archive.folder, tool), join(kept, tool)).catch(() => {
      throw new DownloadError(`${archive.file}: does not contain ${tool}`);
    });
  }
  await moveToStore(cache, archive.storeName, kept);
}

/**
 * The digest published beside the archive (for the plugin a SHA-1 sum, and the only public one). It detects corruption,
 * but not a forged release; a line in checksums.txt takes precedence.
 */
async function publishedDigest(archive: Archive, site: DownloadSite): Promise<string> {
  const { checksumFile, file } = archive;
  const checksums = checksumFile === undefined ? "" : await text(receive(archive, checksumFile, site));
  const digest = findDigest(checksums, file);
  if (digest === undefined) throw new DownloadError(`${file}: no digest is pinned or published`);
  return digest;
}

/** Streams one file of a release. */
async function* receive(archive: Archive, file: string, site: DownloadSite): AsyncGenerator<Uint8Array> {
  const url = `${site.url}/${archive.release}/${file}`;
  const stalled = new AbortController();
  const onStall = () => stalled.abort(new Error(`no data for ${site.silenceMs / 1000} s`));
  const timer = setTimeout(onStall, site.silenceMs);
  let isUnreachable = true;
  try {
    const response = await fetch(url, {
      signal: AbortSignal.any([stalled.signal, AbortSignal.timeout(maxDownloadMs)]),
    });
    isUnreachable = false;
    if (!response.ok) throw new Error(`status ${response.status}`);
    for await (const chunk of response.body ?? []) {
      timer.refresh();
      yield chunk;
    }
  } catch (error) {
    throw new DownloadError(`${url}: ${reasonOf(error)}`, isUnreachable);
  } finally {
    clearTimeout(timer);
  }
}

/** The message of the innermost cause, because the outer message is only "fetch failed". */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause === undefined ? error.message : reasonOf(error.cause);
}
