/**
 * Builds the image without Docker, by performing the steps of the Dockerfile in a folder. Downloads are replaced by
 * files of the same versions on this machine: the engine of the toolchain, and this Node with its libraries. Omits
 * tini.
 */
import { execFile } from "node:child_process";
import { cp, mkdir, readFile } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import { copiesOf, environmentIn, parseDockerfile, parseDockerignore, type Stage, textsOf } from "./dockerfile.ts";

const CONTEXT = fileURLToPath(new URL("../..", import.meta.url));
const run = promisify(execFile);

/** An image. */
export interface Image {
  readonly root: string;
  readonly env: Readonly<Record<string, string>>;
  /** The entry point, without tini. */
  readonly entrypoint: readonly string[];
}

/** Builds the root folder of the image below `dir`. Most of the time is npm installing packages. */
export async function buildImage(dir: string, args: Readonly<Record<string, string>>): Promise<Image> {
  const stages = parseDockerfile(await readFile(join(CONTEXT, "controller/deploy/Dockerfile"), "utf8"));
  const [engine, launcher, packages, final] = stages;
  if (!engine || !launcher || !packages || !final)
    throw new Error("the Dockerfile has not the stages that are known here");
  const roots = Object.fromEntries(stages.map(({ name }) => [name, join(dir, name)]));
  const root = join(dir, "root");
  await layOutEngine(join(dir, engine.name, "src", "out"));
  await layOutLauncher(launcher, join(dir, launcher.name));
  await layOutPackages(packages, join(dir, packages.name));
  await copyAll(final, root, roots);
  await copyLibraries(root);
  for (const mountPoint of ["proc", "tmp", "dev"]) await mkdir(join(root, mountPoint), { recursive: true });
  const [, , ...entrypoint] = JSON.parse(textsOf(final, "ENTRYPOINT")[0] ?? "[]") as string[];
  return { root, env: environmentIn(final, args), entrypoint };
}

async function layOutEngine(out: string): Promise<void> {
  const { paths } = await ensureToolchain(["pulumi", "pulumi-resource-hcloud"]);
  const plugin = paths["pulumi-resource-hcloud"];
  const folder = join(out, "plugins", basename(dirname(plugin)));
  await mkdir(folder, { recursive: true });
  await Promise.all([cp(paths.pulumi, join(out, "pulumi")), cp(plugin, join(folder, basename(plugin)))]);
}

/** Performs the stage with the Go of this machine. */
async function layOutLauncher(stage: Stage, root: string): Promise<void> {
  await copyAll(stage, root, {});
  const env = { ...process.env, ...environmentIn(stage, {}) };
  for (const command of textsOf(stage, "RUN"))
    await run("sh", ["-c", command], { cwd: join(root, workdirOf(stage)), env });
}

/** Performs the stage, except installing Debian packages. */
async function layOutPackages(stage: Stage, root: string): Promise<void> {
  await copyAll(stage, root, {});
  await cp(process.execPath, join(root, "usr/local/bin/node"));
  const env = { ...process.env, npm_config_prefer_offline: "true", ...environmentIn(stage, {}) };
  for (const command of textsOf(stage, "RUN").filter((text) => !text.startsWith("apt-get "))) {
    await run("sh", ["-c", command], { cwd: join(root, workdirOf(stage)), env });
  }
}

async function copyAll(stage: Stage, root: string, others: Readonly<Record<string, string>>): Promise<void> {
  const isIgnored = parseDockerignore(await readFile(join(CONTEXT, ".dockerignore"), "utf8"));
  for (const { from, sources, target } of copiesOf(stage)) {
    if (sources.some((source) => source.endsWith("tini-static"))) continue;
    const place = join(root, target.startsWith("/") ? target : join(workdirOf(stage), target));
    for (const source of sources) {
      const path = from === undefined ? join(CONTEXT, source) : join(others[from] ?? "", source);
      const filter = (file: string) => from !== undefined || !isIgnored(relative(CONTEXT, file));
      await cp(path, target.endsWith("/") ? join(place, source) : place, { recursive: true, filter });
    }
  }
}

/** Copies the C and C++ libraries of the base image from this machine. */
async function copyLibraries(root: string): Promise<void> {
  const { stdout } = await run("ldd", [process.execPath]);
  const libraries = [...stdout.matchAll(/(\/\S+) \(0x/g)].flatMap(([, path]) => (path ? [path] : []));
  for (const library of libraries) await cp(library, join(root, library), { dereference: true });
}

function workdirOf(stage: Stage): string {
  return textsOf(stage, "WORKDIR").at(-1) ?? "/";
}
