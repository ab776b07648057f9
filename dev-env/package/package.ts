/** The command line as one archive, for npm and as a plugin of kubectl: JavaScript, and the packages of the lock file. */
import { execFileSync } from "node:child_process";
import { hash } from "node:crypto";
import {
  chmodSync,
  cpSync,
  globSync,
  mkdirSync,
  mkdtempDisposableSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { programCommit, programVersion } from "../../controller/diagnostics/version.ts";
import { renderKrewManifest } from "./krew.ts";

/** What to build from, and where the archive will be published. */
export interface PackageOptions {
  /** A checkout with the output of `npm run build` in `dist/`. */
  readonly root: string;
  readonly outDir: string;
  /** The address below which the files will be published. */
  readonly baseUrl: string;
}

/** Paths of what was written. */
export interface Packaged {
  readonly archive: string;
  readonly krewManifest: string;
}

/** Programs of the package. kubectl calls the second for `kubectl lotse`, and the third to complete its arguments. */
const BIN = {
  lotse: "controller/main.js",
  "kubectl-lotse": "kubectl-lotse",
  "kubectl_complete-lotse": "kubectl_complete-lotse",
} as const;

const PLUGIN = `#!/bin/sh
# "kubectl lotse". The title makes help texts show that name.
exec node --title="kubectl lotse" "$(dirname "$(readlink -f "$0")")/${BIN.lotse}" "$@"
`;

/** Writes the archive `lotse-<version>.tgz` and the manifest of the plugin for krew. */
export function writePackage({ root, outDir, baseUrl }: PackageOptions): Packaged {
  using folder = mkdtempDisposableSync(join(tmpdir(), "lotse-package-"));
  const stage = folder.path;
  const version = programVersion(process.env, root);
  stageFiles(root, stage, version);
  mkdirSync(outDir, { recursive: true });
  npm(stage, "ci", "--ignore-scripts", "--no-bin-links", "--loglevel=error");
  for (const file of globSync(join(stage, "node_modules/**/*.map"))) rmSync(file);
  const name = npm(stage, "pack", "--silent", `--pack-destination=${outDir}`).trim();
  const archive = join(outDir, name);
  const krewManifest = join(outDir, "lotse.krew.yaml");
  const sha256 = hash("sha256", readFileSync(archive), "hex");
  writeFileSync(krewManifest, renderKrewManifest({ version, uri: `${baseUrl}/${name}`, sha256 }));
  return { archive, krewManifest };
}

function stageFiles(root: string, stage: string, version: string): void {
  cpSync(join(root, "dist"), stage, { recursive: true });
  for (const file of ["LICENSE", ".npmrc", "package-lock.json"]) cpSync(join(root, file), join(stage, file));
  const { name, description, license, type, engines, dependencies } = JSON.parse(
    readFileSync(join(root, "package.json"), "utf8"),
  );
  const gitHead = programCommit(process.env, root).replace(" (from source)", "");
  // Bundled, because npm ignores the lock file of a package that it installs. Private: it is not published to npm.
  const manifest = {
    name,
    version,
    description,
    license,
    gitHead,
    private: true,
    type,
    engines,
    bin: BIN,
    dependencies,
  };
  writeFileSync(join(stage, "package.json"), JSON.stringify({ ...manifest, bundleDependencies: true }, undefined, 2));
  writeFileSync(join(stage, BIN["kubectl-lotse"]), PLUGIN);
  const completion = execFileSync(process.execPath, [join(root, "controller/main.ts"), "completion", "kubectl"]);
  writeFileSync(join(stage, BIN["kubectl_complete-lotse"]), completion);
  for (const file of Object.values(BIN)) chmodSync(join(stage, file), 0o755);
}

function npm(cwd: string, ...args: readonly string[]): string {
  return execFileSync("npm", args, { cwd, encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
}
