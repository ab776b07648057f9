/** Pins the base images of the Dockerfile by digest. `--check` only says which ones have none. */
import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { fetchDigest, imagesIn, withDigest } from "./images.ts";

const FILE = fileURLToPath(new URL("../../controller/deploy/Dockerfile", import.meta.url));
const text = await readFile(FILE, "utf8");
if (process.argv.includes("--check")) {
  const loose = imagesIn(text).filter(({ digest }) => digest === undefined);
  for (const { name } of loose) process.stderr.write(`${name} has no digest: run node dev-env/pins/main.ts\n`);
  process.exitCode = loose.length > 0 ? 1 : 0;
} else {
  let pinned = text;
  for (const image of imagesIn(text)) {
    try {
      const digest = await fetchDigest(image.name);
      pinned = withDigest(pinned, image.name, digest);
      process.stdout.write(`${image.name}@${digest}${digest === image.digest ? " (unchanged)" : ""}\n`);
    } catch (error) {
      process.stderr.write(
        `${image.name}: ${error instanceof Error ? error.message : error}; its pin stays as it is\n`,
      );
      process.exitCode = 1;
    }
  }
  if (pinned !== text) await writeFile(FILE, pinned);
}
