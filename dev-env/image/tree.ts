/**
 * The files of the image, without Docker and without emulation: performs the steps of the Dockerfile in folders. What the
 * stages take from their base images comes in the same versions from elsewhere: the engine from the toolchain, Node from
 * npm, and Debian packages from Debian.
 */
import { cp, mkdir, readFile, rm } from "node:fs/promises";
import { basename, dirname, join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { run } from "../toolchain/run.ts";
import type { Architecture, Toolchain } from "../toolchain/toolchain.ts";
import { downloadPackages, unpackPackage } from "./debian.ts";
import { type Copy, copiesOf, pairsIn, parseDockerfile, parseDockerignore, type Stage, textsOf } from "./dockerfile.ts";
import { putNode } from "./node.ts";
import type { ImageConfig } from "./oci.ts";

const CONTEXT = fileURLToPath(new URL("../..", import.meta.url));

/** Folders of the stages, by name. */
type Roots = Readonly<Record<string, string>>;

/** Binaries of the engine for one architecture. */
export type Engine = Pick<Toolchain["paths"], "pulumi" | "pulumi-resource-hcloud">;

/** What to build the files from. */
export interface TreeOptions {
  /** Build arguments of the Dockerfile. */
  readonly args: Readonly<Record<string, string>>;
  readonly engines: Readonly<Partial<Record<Architecture, Engine>>>;
}

/** The files of the image for one architecture, without its base. */
export interface Tree {
  readonly architecture: Architecture;
  readonly root: string;
  /** The base image, with its digest. */
  readonly base: string;
  readonly config: ImageConfig;
}

/** Builds the files below `dir`, for every architecture with an engine. Most of the time is npm installing packages. */
export async function buildTrees(dir: string, { args, engines }: TreeOptions): Promise<readonly Tree[]> {
  const stages = parseDockerfile(await readFile(join(CONTEXT, "controller/deploy/Dockerfile"), "utf8"));
  const [engine, launcher, build, packages, final] = stages;
  if (!engine || !launcher || !build || !packages || !final)
    throw new Error("the Dockerfile does not have the stages engine, launcher, build, packages and a last one");
  const shared = Object.fromEntries(stages.map(({ name }) => [name, join(dir, name)]));
  // JavaScript is the same for all architectures.
  for (const stage of [build, packages]) await perform(stage, shared);
  const trees: Tree[] = [];
  for (const [architecture, binaries] of Object.entries(engines) as [Architecture, Engine][]) {
    const roots = { ...shared, [final.name]: join(dir, architecture) };
    for (const path of [`${launcher.name}`, `${engine.name}`, `${packages.name}/usr`])
      await rm(join(dir, path), { recursive: true, force: true });
    await layOutEngine(join(dir, engine.name, "src/out"), binaries);
    await putNode(architecture, join(dir, packages.name, "usr/local/bin/node"));
    await installPackages(packages, architecture, join(dir, packages.name));
    await perform(launcher, roots, { GOOS: "linux", GOARCH: architecture });
    await perform(final, roots);
    trees.push({ architecture, root: join(dir, architecture), base: final.base, config: configOf(final, args) });
  }
  return trees;
}

function configOf(final: Stage, args: Readonly<Record<string, string>>): ImageConfig {
  const words = (keyword: string) => JSON.parse(textsOf(final, keyword)[0] ?? "[]") as string[];
  return {
    entrypoint: words("ENTRYPOINT"),
    cmd: words("CMD"),
    env: pairsIn(final, "ENV", args),
    labels: pairsIn(final, "LABEL", args),
    workdir: textsOf(final, "WORKDIR").at(-1) ?? "/",
    ports: textsOf(final, "EXPOSE").flatMap((text) => text.split(" ")),
  };
}

async function layOutEngine(out: string, engine: Engine): Promise<void> {
  const plugin = engine["pulumi-resource-hcloud"];
  const folder = join(out, "plugins", basename(dirname(plugin)));
  await mkdir(folder, { recursive: true });
  await Promise.all([cp(engine.pulumi, join(out, "pulumi")), cp(plugin, join(folder, basename(plugin)))]);
}

const isInstallation = (text: string) => text.startsWith("apt-get ");

/** Unpacks what a stage installs with apt-get. */
async function installPackages(stage: Stage, architecture: Architecture, root: string): Promise<void> {
  const commands = textsOf(stage, "RUN").filter(isInstallation);
  const names = commands.flatMap((text) => [...text.matchAll(/"([^"]+)"/g)].map(([, name]) => name ?? ""));
  for (const file of await downloadPackages(architecture, names)) await unpackPackage(file, root);
}

/** Performs a stage in its root, with the Go and the Node of this machine. Leaves out what apt-get installs. */
async function perform(stage: Stage, roots: Roots, variables: Readonly<Record<string, string>> = {}): Promise<void> {
  const root = roots[stage.name] ?? "";
  const cwd = join(root, textsOf(stage, "WORKDIR").at(-1) ?? "/");
  const env = { ...process.env, npm_config_prefer_offline: "true", ...pairsIn(stage, "ENV"), ...variables };
  await mkdir(cwd, { recursive: true });
  for (const instruction of stage.instructions) {
    const { keyword, text } = instruction;
    if (keyword === "RUN" && !isInstallation(text)) await run("sh", ["-c", text], { cwd, env });
    for (const copy of copiesOf({ ...stage, instructions: [instruction] })) {
      const target = copy.target.startsWith("/") ? join(root, copy.target) : join(cwd, copy.target);
      await performCopy({ ...copy, target }, roots);
    }
  }
}

async function performCopy({ from, sources, target }: Copy, roots: Roots): Promise<void> {
  const isIgnored = parseDockerignore(await readFile(join(CONTEXT, ".dockerignore"), "utf8"));
  for (const source of sources) {
    const path = from === undefined ? join(CONTEXT, source) : join(roots[from] ?? "", source);
    const filter = (file: string) => from !== undefined || !isIgnored(relative(CONTEXT, file));
    // Links must not be resolved: they would point into the folders of this build.
    const options = { recursive: true, verbatimSymlinks: true, filter };
    await cp(path, target.endsWith("/") ? join(target, source) : target, options);
  }
}
