/** Debian packages for either architecture, downloaded without changing this machine's package database. */
import { existsSync } from "node:fs";
import { mkdir, readdir, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { cacheRoot } from "../toolchain/cache.ts";
import { withLock } from "../toolchain/lock.ts";
import { run } from "../toolchain/run.ts";
import type { Architecture } from "../toolchain/toolchain.ts";
import { shortHash } from "../toolchain/tools.ts";

/** Debian's archive keys. apt verifies the lists of packages with them, and packages by the digests in the lists. */
const KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg";
/** Debian 12, the release of the base image. */
const SOURCES = ["debian bookworm main", "debian-security bookworm-security main"]
  .map((suite) => `deb [signed-by=${KEYRING}] http://deb.debian.org/${suite}\n`)
  .join("");

/**
 * Downloads packages, named as for `apt-get install`, and returns the paths of their files. The cache keeps them, so that
 * the next build uses the same versions; delete its folder `debian` to renew them.
 */
export async function downloadPackages(
  architecture: Architecture,
  names: readonly string[],
): Promise<readonly string[]> {
  const dir = join(cacheRoot(process.env), "debian", architecture);
  const target = join(dir, shortHash(names));
  await withLock(join(dir, "lock"), async () => {
    if (!existsSync(target)) await download(dir, target, architecture, names);
  });
  return (await readdir(target)).sort().map((file) => join(target, file));
}

async function download(dir: string, target: string, architecture: Architecture, names: readonly string[]) {
  if (!existsSync(KEYRING)) throw new Error(`${KEYRING} does not exist: install the package debian-archive-keyring`);
  const fresh = join(dir, "new");
  await rm(fresh, { recursive: true, force: true });
  for (const folder of ["new", "lists/partial", "cache/archives/partial"])
    await mkdir(join(dir, folder), { recursive: true });
  await writeFile(join(dir, "sources.list"), SOURCES);
  await writeFile(join(dir, "status"), "");
  const settings = {
    "Dir::State": dir,
    "Dir::State::status": join(dir, "status"),
    "Dir::Cache": join(dir, "cache"),
    "Dir::Etc": dir,
    "Dir::Etc::sourceparts": "/dev/null",
    "APT::Architecture": architecture,
    "APT::Architectures": architecture,
    "APT::Sandbox::User": "",
  };
  const config = join(dir, "apt.conf");
  await writeFile(
    config,
    Object.entries(settings)
      .map(([key, value]) => `${key} "${value}";\n`)
      .join(""),
  );
  const options = { cwd: fresh, env: { ...process.env, APT_CONFIG: config } };
  await run("apt-get", ["update", "--quiet"], options);
  await run("apt-get", ["download", "--quiet", ...names], options);
  await rename(fresh, target);
}

/** Unpacks a package into a folder. Its scripts do not run. */
export async function unpackPackage(file: string, root: string): Promise<void> {
  await run("dpkg-deb", ["--extract", file, root]);
}

/** The control fields of a package, as in dpkg's status file, and its name. */
export async function controlOf(file: string): Promise<{ readonly name: string; readonly text: string }> {
  const text = await run("dpkg-deb", ["--field", file]);
  return { name: /^Package: (\S+)$/m.exec(text)?.[1] ?? "", text };
}
