/**
 * What the image starts from: the base image that the Dockerfile pins by digest, or, where its registry cannot be reached,
 * the same parts of it from Debian's packages, as one layer.
 */
import { existsSync, globSync } from "node:fs";
import { appendFile, mkdir, mkdtempDisposable, readFile, rename, rm, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { cacheRoot } from "../toolchain/cache.ts";
import { run } from "../toolchain/run.ts";
import { type Architecture, ensureToolchain } from "../toolchain/toolchain.ts";
import { shortHash } from "../toolchain/tools.ts";
import { controlOf, downloadPackages, unpackPackage } from "./debian.ts";
import { writeLayer } from "./oci.ts";

/** A pinned image in a registry, or a layer on this machine. */
export type Base = { readonly image: string } | { readonly layer: string; readonly packages: readonly string[] };

/** What a base consists of: an image with its digest, or packages with their versions. */
export function partsOf(base: Base): readonly string[] {
  if ("image" in base) return [base.image];
  return base.packages.map((file) => {
    const [name, version] = decodeURIComponent(basename(file)).split("_");
    return `pkg:deb/debian/${name}@${version}?distro=debian-12`;
  });
}

/** What Node and the engine need of the base image: the C and C++ libraries, certificates and time zones. */
const PACKAGES = ["base-files", "ca-certificates", "libc6", "libgcc-s1", "libstdc++6", "netbase", "tzdata"];
/** Nothing reads these. Licences (`copyright`) stay. */
const UNUSED = ["usr/share/{man,locale,lintian,bug,info}", "usr/share/doc/*/!(copyright)"];
const USERS = "root:x:0:0:root:/root:/sbin/nologin\nnonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin\n";
const GROUPS = "root:x:0:\nnonroot:x:65532:\n";

/** Chooses the base for an architecture. `image` names it with its digest. */
export async function provideBase(image: string, architecture: Architecture): Promise<Base> {
  const { paths } = await ensureToolchain(["crane"]);
  try {
    await run(paths.crane, ["manifest", "--platform", `linux/${architecture}`, image], { timeout: 60_000 });
    return { image };
  } catch {
    const packages = await downloadPackages(architecture, PACKAGES);
    return { layer: await debianLayer(architecture, packages), packages };
  }
}

/** Packs the minimal root of Debian packages, unless the cache has it. */
async function debianLayer(architecture: Architecture, packages: readonly string[]): Promise<string> {
  const layer = join(
    cacheRoot(process.env),
    "debian",
    `${architecture}-${shortHash([packages, UNUSED, USERS])}.tar.gz`,
  );
  if (existsSync(layer)) return layer;
  await using dir = await mkdtempDisposable(`${layer}.`);
  const [root, packed] = [join(dir.path, "root"), join(dir.path, "layer")];
  await layOut(root, packages);
  await writeLayer({ root, paths: ["."], seconds: 0 }, packed);
  await rename(packed, layer);
  return layer;
}

async function layOut(root: string, packages: readonly string[]): Promise<void> {
  const database = join(root, "var/lib/dpkg/status.d");
  for (const folder of [database, join(root, "etc/ssl/certs"), join(root, "home/nonroot")])
    await mkdir(folder, { recursive: true });
  for (const file of packages) {
    await unpackPackage(file, root);
    // Scanners find the packages here, as in the base image.
    const { name, text } = await controlOf(file);
    await writeFile(join(database, name), text);
  }
  await writeFile(join(root, "etc/passwd"), USERS);
  await writeFile(join(root, "etc/group"), GROUPS);
  for (const file of globSync("usr/share/ca-certificates/mozilla/*.crt", { cwd: root }).sort())
    await appendFile(join(root, "etc/ssl/certs/ca-certificates.crt"), await readFile(join(root, file)));
  for (const path of globSync(UNUSED, { cwd: root })) await rm(join(root, path), { recursive: true, force: true });
}

/** Unpacks a base into a folder. */
export async function unpackBase(base: Base, architecture: Architecture, root: string): Promise<void> {
  const { paths } = await ensureToolchain(["crane"]);
  const source =
    "image" in base ? `"$1" export --platform=linux/${architecture} "$2" -` : 'gzip --decompress --stdout "$2"';
  const script = `${source} | tar --extract --directory="$3"`;
  await run("sh", ["-ec", script, "unpack", paths.crane, "image" in base ? base.image : base.layer, root]);
}
