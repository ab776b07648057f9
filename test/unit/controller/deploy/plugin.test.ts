import { execFile } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { promisify } from "node:util";
import { afterEach, beforeEach, expect, it } from "vitest";
import { startServer, type TestServer } from "../../../support/http-server.ts";

const run = promisify(execFile);
const SCRIPT = resolve("controller/deploy/plugin.sh");
const ARCHIVE = "pulumi-resource-hcloud-v1.2.3-linux-amd64.tar.gz";
/** Stands in for the compiler. */
const GO = `#!/bin/sh
case "$1" in
  env) echo amd64 ;;
  *) while [ "$1" != -o ]; do shift; done; echo built > "$2" ;;
esac
`;

const SUMS = "pulumi-hcloud_1.2.3_checksums.txt";

let folder: string;
let archive: Buffer;
let site: TestServer;
/** Files on the release site. */
let files: Record<string, Buffer | string>;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "lotse-plugin-"));
  await mkdir(join(folder, "bin"));
  await writeFile(join(folder, "bin", "go"), GO, { mode: 0o755 });
  await writeFile(join(folder, "pulumi-resource-hcloud"), "official");
  await run("tar", ["-czf", ARCHIVE, "pulumi-resource-hcloud"], { cwd: folder });
  archive = await readFile(join(folder, ARCHIVE));
  files = { [ARCHIVE]: archive, [SUMS]: checksums("sha1", "./") };
  site = await startServer(({ path }, response) => {
    const file = files[path.replace("/v1.2.3/", "")];
    response.writeHead(file === undefined ? 404 : 200).end(file);
  });
});
afterEach(async () => {
  await site.stop();
  await rm(folder, { recursive: true });
});

/** A file of checksums, with another archive before ours. Pulumi writes its own with `shasum ./*.tar.gz`. */
function checksums(hash: "sha1" | "sha256", prefix: string, content = archive): string {
  const digest = createHash(hash).update(content).digest("hex");
  return `${"0".repeat(digest.length)}  ${prefix}other-${ARCHIVE}\n${digest}  ${prefix}${ARCHIVE}\n`;
}

async function provide(url = site.url) {
  const env = { ...process.env, PATH: `${join(folder, "bin")}:${process.env.PATH}`, PLUGIN_SITE: url };
  const { stdout } = await run("sh", [SCRIPT, "1.2.3", "sources", "out"], { cwd: folder, env });
  return { stdout, plugin: (await readFile(join(folder, "out", "pulumi-resource-hcloud"), "utf8")).trim() };
}

it("takes the official plugin", async () => {
  expect(await provide()).toEqual({ plugin: "official", stdout: "the official plugin 1.2.3\n" });
});

it.each([
  ["sha1", ""],
  ["sha256", ""],
  ["sha256", "./"],
] as const)("takes one whose digest is %s and whose name starts with %j", async (hash, prefix) => {
  files[SUMS] = checksums(hash, prefix);
  expect((await provide()).plugin).toBe("official");
});

it("builds it where the release site has none, or cannot be reached", async () => {
  files = {};
  expect((await provide()).plugin).toBe("built");
  expect((await provide("http://127.0.0.1:9")).plugin).toBe("built");
});

it.each([
  ["another digest", () => `${"0".repeat(64)}  ${ARCHIVE}\n`],
  ["another SHA-1 digest", () => checksums("sha1", "./", Buffer.from("forged"))],
  ["another SHA-256 digest", () => checksums("sha256", "./", Buffer.from("forged"))],
  ["the digest of another file", () => checksums("sha1", "./").replaceAll(`  ./${ARCHIVE}`, "  ./different.tar.gz")],
  ["no digest", () => ""],
])("refuses an archive with %s", async (_, sums) => {
  files[SUMS] = sums();
  await expect(provide()).rejects.toThrow(`${ARCHIVE} does not have the published digest`);
});
