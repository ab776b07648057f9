/** Part of `npm run docs`: writes controller/deploy/manifests, or with --check says which of them are not current. */
import { basename } from "node:path";
import { staleManifests, writeManifests } from "./manifests.ts";

if (process.argv.includes("--check")) {
  const stale = await staleManifests();
  for (const { file } of stale) process.stderr.write(`${basename(file.pathname)} is not current: run npm run docs\n`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else await writeManifests();
