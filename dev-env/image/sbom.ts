/** Bills of materials of the image, as SPDX: npm packages, Go modules of the binaries, and Debian packages. */
import { join } from "node:path";
import { run } from "../toolchain/run.ts";
import { type Architecture, ensureToolchain } from "../toolchain/toolchain.ts";
import { crane, withRegistry } from "./oci.ts";

/** syft must not look for updates, and the registry on loopback has no TLS. */
const SETTINGS = {
  SYFT_CHECK_FOR_APP_UPDATE: "false",
  SYFT_REGISTRY_INSECURE_USE_HTTP: "true",
  SYFT_LOG_QUIET: "true",
};

/** Writes `lotse-<architecture>.spdx.json` for each architecture of an OCI layout, from what the image contains. */
export async function writeSboms(
  layout: string,
  { architectures, version, out }: { architectures: readonly Architecture[]; version: string; out: string },
): Promise<void> {
  const { paths } = await ensureToolchain(["syft"]);
  await withRegistry(async (host) => {
    const reference = `${host}/lotse:1`;
    await crane("push", layout, reference);
    for (const architecture of architectures) {
      const output = `spdx-json=${join(out, `lotse-${architecture}.spdx.json`)}`;
      const source = [`registry:${reference}`, `--platform=linux/${architecture}`];
      const name = ["--source-name=lotse", `--source-version=${version}`];
      await run(paths.syft, ["scan", ...source, ...name, "--output", output], { env: { ...process.env, ...SETTINGS } });
    }
  });
}
