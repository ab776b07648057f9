/** Images made of layers, with crane and a registry on loopback: crane edits images in registries only. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempDisposable, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { run } from "../toolchain/run.ts";
import { type Architecture, ensureToolchain } from "../toolchain/toolchain.ts";
import type { Base } from "./base.ts";

/** How a container of an image starts. */
export interface ImageConfig {
  readonly entrypoint: readonly string[];
  readonly cmd?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
  readonly labels?: Readonly<Record<string, string>>;
  readonly workdir?: string;
  /** User and group, by default those of `nonroot`. */
  readonly user?: string;
  /** Such as `8233`. */
  readonly ports?: readonly string[];
}

/** An image for one architecture. */
export interface ImageSource {
  readonly architecture: Architecture;
  readonly base?: Base;
  /** Layers on top of the base, from `writeLayer`. */
  readonly layers: readonly string[];
  readonly config: ImageConfig;
}

/** Files for a layer. */
export interface LayerSource {
  readonly root: string;
  /** Files and folders below the root. */
  readonly paths: readonly string[];
  /** Time of all files, in seconds since 1970. */
  readonly seconds: number;
}

/** Writes a compressed layer. Equal files result in equal layers: owners, times and this machine's umask are left out. */
export async function writeLayer({ root, paths, seconds }: LayerSource, file: string): Promise<void> {
  const equal = ["--sort=name", `--mtime=@${seconds}`, "--owner=0", "--group=0", "--numeric-owner", "--format=gnu"];
  const modes = "--mode=u+rwX,go+rX,go-w";
  const gzip = "--use-compress-program=gzip --no-name";
  await run("tar", ["--create", `--file=${file}`, gzip, modes, ...equal, `--directory=${root}`, ...paths]);
}

/** Runs crane, and returns its output. */
export async function crane(...args: readonly string[]): Promise<string> {
  const { paths } = await ensureToolchain(["crane"]);
  return (await run(paths.crane, args)).trim();
}

/** Runs a registry on a free port of loopback while `use` runs. It forgets everything afterwards. */
export async function withRegistry<T>(use: (host: string) => Promise<T>): Promise<T> {
  const { paths } = await ensureToolchain(["crane"]);
  await using disk = await mkdtempDisposable(join(tmpdir(), "lotse-registry-"));
  const server = spawn(paths.crane, ["registry", "serve", "--address=127.0.0.1:0", `--disk=${disk.path}`], {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const ended = once(server, "close");
  try {
    return await use(`127.0.0.1:${await portOf(server.stderr)}`);
  } finally {
    server.kill();
    await ended;
  }
}

async function portOf(output: NodeJS.ReadableStream): Promise<string> {
  for await (const line of createInterface({ input: output })) {
    const port = /serving on port (\d+)/.exec(line)?.[1];
    if (port === undefined) continue;
    output.resume();
    return port;
  }
  throw new Error("crane could not start a registry on loopback");
}

/** Pushes an image to a registry. Returns its reference by digest. */
async function pushImage(source: ImageSource, reference: string): Promise<string> {
  const { architecture, base, layers } = source;
  const from =
    base && "image" in base ? ["--base", base.image, "--platform", `linux/${architecture}`] : ["--oci-empty-base"];
  const all = [...(base && "layer" in base ? [base.layer] : []), ...layers];
  await crane("append", ...from, "--new_tag", reference, ...all.flatMap((file) => ["--new_layer", file]));
  return crane("mutate", reference, "--tag", reference, ...optionsOf(source));
}

/** Writes an image as an archive for containerd. */
export async function writeArchive(source: ImageSource, name: string, file: string): Promise<void> {
  await withRegistry(async (host) => {
    const reference = `${host}/image:1`;
    await pushImage(source, reference);
    await crane("mutate", reference, "--tag", name, "--output", file);
  });
}

/** Writes images of several architectures as one OCI layout, a folder, and returns the digest of their index. */
export async function writeLayout(sources: readonly ImageSource[], dir: string): Promise<string> {
  return withRegistry(async (host) => {
    const images: string[] = [];
    for (const source of sources) images.push(await pushImage(source, `${host}/image:${source.architecture}`));
    const index = `${host}/image:index`;
    const manifests = images.flatMap((reference) => ["--manifest", reference]);
    await crane("index", "append", "--tag", index, ...manifests);
    await rm(dir, { recursive: true, force: true });
    await crane("pull", "--format=oci", index, dir);
    return crane("digest", index);
  });
}

function optionsOf({ architecture, config }: ImageSource): readonly string[] {
  const { entrypoint, cmd = [], env = {}, labels = {}, workdir = "/", user = "65532:65532", ports = [] } = config;
  const pairs = (flag: string, values: Readonly<Record<string, string>>) =>
    Object.entries(values).flatMap(([key, value]) => [flag, `${key}=${value}`]);
  return [
    ...["--set-platform", `linux/${architecture}`, "--user", user, "--workdir", workdir],
    ...entrypoint.flatMap((word) => ["--entrypoint", word]),
    ...cmd.flatMap((word) => ["--cmd", word]),
    ...ports.flatMap((port) => ["--exposed-ports", `${port}/tcp`]),
    ...pairs("--env", env),
    ...pairs("--label", labels),
  ];
}
