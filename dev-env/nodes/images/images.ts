/** The images of a world, without a registry: built from the toolchain's binaries and from this checkout. */
import { existsSync } from "node:fs";
import { copyFile, readFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { packTree } from "../../image/image.ts";
import { writeArchive, writeLayer } from "../../image/oci.ts";
import { buildTrees } from "../../image/tree.ts";
import { cacheRoot } from "../../toolchain/cache.ts";
import { run } from "../../toolchain/run.ts";
import { type Toolchain, thisArchitecture } from "../../toolchain/toolchain.ts";
import { PAUSE_IMAGE } from "../machine/settings.ts";
import { agnhostImage } from "./agnhost.ts";
import { digestOf, type Image, prepareStore } from "./store.ts";

/** Names of the images that pods of a world can use, with the pull policy `Never` or `IfNotPresent`. */
export const IMAGES = {
  pause: PAUSE_IMAGE,
  echo: "lotse.local/http-echo:1",
  dns: "lotse.local/coredns:1",
  ingress: "lotse.local/traefik:1",
  // Kubernetes' own tests expect this tag.
  agnhost: "lotse.local/agnhost:2.63.0",
  lotse: { repository: "lotse.local/lotse", tag: "dev" },
} as const;

const ROOT = fileURLToPath(new URL("../../..", import.meta.url));
/** What the image of the controller is made from, besides binaries. */
const SOURCES = [
  "controller",
  "stacks",
  "package.json",
  "package-lock.json",
  "tsconfig.json",
  "tsconfig.build.json",
  ".npmrc",
  ".dockerignore",
  "LICENSE",
];

/** Builds the images that have changed, and returns containerd's store with all of them. */
export async function provideImages(
  tools: Toolchain,
  { hasIngress = false, hasUpstream = false } = {},
): Promise<string> {
  const { echo, dns, ingress, agnhost, pause, lotse } = IMAGES;
  const images = await Promise.all([
    binaryImage({ name: pause, file: tools.paths["http-echo"], args: ["pause"] }),
    binaryImage({ name: echo, file: tools.paths["http-echo"], args: [] }),
    binaryImage({ name: dns, file: tools.paths.coredns, args: [] }),
    ...(hasIngress ? [binaryImage({ name: ingress, file: tools.paths.traefik, args: [] })] : []),
    ...(hasUpstream ? [agnhostImage(agnhost, tools.paths.agnhost)] : []),
    ownImage(`${lotse.repository}:${lotse.tag}`, tools),
  ]);
  return prepareStore(images, tools, join(cacheRoot(process.env), "images"));
}

interface Binary {
  readonly name: string;
  readonly file: string;
  readonly args: readonly string[];
}

/** An image that contains one static binary. */
async function binaryImage({ name, file, args }: Binary): Promise<Image> {
  return {
    key: `${name}-${await digestOf([file], args)}`,
    write: async (dir, archive) => {
      const [program, layer] = [basename(file), join(dir, "layer.tar.gz")];
      await copyFile(file, join(dir, program));
      await writeLayer({ root: dir, paths: [program], seconds: 0 }, layer);
      const config = { entrypoint: [`/${program}`, ...args] };
      await writeArchive({ architecture: thisArchitecture, layers: [layer], config }, name, archive);
    },
  };
}

/** The controller's image, as `npm run image` builds it. */
async function ownImage(name: string, { paths }: Toolchain): Promise<Image> {
  const list = ["ls-files", "-z", "--cached", "--others", "--exclude-standard", ...SOURCES];
  const listed = await run("git", ["-C", ROOT, ...list]);
  const sources = listed.split("\0").filter((path) => path !== "" && existsSync(join(ROOT, path)));
  const binaries = [paths.pulumi, paths["pulumi-resource-hcloud"]];
  const digest = await digestOf([...sources.map((path) => join(ROOT, path)), ...binaries], sources);
  return {
    key: `${name}-${digest}`,
    write: async (dir, archive) => {
      const { version } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
      const args = { LOTSE_VERSION: `v${version}` };
      const [tree] = await buildTrees(dir, { args, engines: { [thisArchitecture]: paths } });
      if (tree) await writeArchive(await packTree(tree, 0), name, archive);
    },
  };
}
