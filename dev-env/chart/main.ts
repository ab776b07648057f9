/** Part of `npm run docs`: writes controller/deploy/manifests; with --check, reports outdated manifests instead. */
import { basename } from "node:path";
import { staleManifests, writeManifests } from "./manifests.ts";

if (process.argv.includes("--check")) {
  const stale = await staleManifests();
  for (const { file } of stale) process.stderr.write(`${basename(file.pathname)} is out of date: run npm run docs\n`);
  process.exitCode = stale.length > 0 ? 1 : 0;
} else await writeManifests();
