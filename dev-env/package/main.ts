/** `npm run package`: builds the command line as an archive for npm and krew, into .lotse/release. */
import { execFileSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { writePackage } from "./package.ts";

const root = fileURLToPath(new URL("../..", import.meta.url));
execFileSync("npm", ["run", "--silent", "build"], { cwd: root, stdio: "inherit" });
const baseUrl = process.env.LOTSE_RELEASE_URL || "https://lotse.invalid";
const { archive, krewManifest } = writePackage({ root, outDir: `${root}.lotse/release`, baseUrl });
process.stdout.write(`${archive}\n${krewManifest}\n`);
