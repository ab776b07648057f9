/**
 * `npm run image -- [--platform linux/amd64,linux/arm64] [--out .lotse/image] [--pinned-base] [--no-sbom]`: builds
 * the image as an OCI layout, its bills of materials and its provenance.
 */
import { execFileSync } from "node:child_process";
import { mkdirSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { programVersion } from "../../controller/diagnostics/version.ts";
import { ProgressDisplay } from "../toolchain/progress.ts";
import {
  type Architecture,
  architectures,
  ensureToolchain,
  provideEngine,
  ToolchainError,
} from "../toolchain/toolchain.ts";
import { sourceTime, writeImage } from "./image.ts";
import { isPinned, renderProvenance } from "./provenance.ts";
import { writeSboms } from "./sbom.ts";
import type { Engine } from "./tree.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const { values } = parseArgs({
  options: {
    platform: { type: "string", default: "linux/amd64,linux/arm64" },
    out: { type: "string", default: join(ROOT, ".lotse/image") },
    /** Fails instead of using Debian packages where the base image cannot be pulled. */
    "pinned-base": { type: "boolean", default: false },
    "no-sbom": { type: "boolean", default: false },
  },
});
const out = resolve(values.out);
const layout = join(out, "layout");
const wanted = values.platform.split(",");
const selected = architectures.filter((it) => wanted.includes(`linux/${it}`));
if (selected.length === wanted.length) await build(selected).catch(explain);
else explain(new ToolchainError("no-way", `--platform: "${values.platform}" is not linux/amd64, linux/arm64 or both`));

async function build(selection: readonly Architecture[]): Promise<void> {
  const display = new ProgressDisplay(process.stdout);
  const engines: Partial<Record<Architecture, Engine>> = {};
  for (const architecture of selection) engines[architecture] = await provideEngine(architecture, display.report);
  await ensureToolchain(["crane", "syft"], display.report);
  display.close();
  const version = `v${programVersion()}`;
  const commit =
    process.env.LOTSE_COMMIT || execFileSync("git", ["-C", ROOT, "rev-parse", "HEAD"], { encoding: "utf8" }).trim();
  mkdirSync(out, { recursive: true });
  const options = { args: { LOTSE_VERSION: version, LOTSE_COMMIT: commit }, engines, seconds: sourceTime() };
  const { digest, base } = await writeImage(options, layout);
  if (values["pinned-base"] && !isPinned(base))
    throw new ToolchainError(
      "no-way",
      "the base image cannot be pulled: connect to its registry, then rerun the command",
    );
  if (!values["no-sbom"]) await writeSboms(layout, { architectures: selection, version, out });
  writeFileSync(join(out, "provenance.json"), renderProvenance({ version, commit, base, env: process.env }));
  process.stdout.write(`${layout}\n${digest}\n`);
}

function explain(error: unknown): void {
  if (!(error instanceof ToolchainError)) throw error;
  process.stderr.write(`image: ${error.message}\n`);
  process.exitCode = 1;
}
