/** `npm run site`: builds the static site in dist/site, or in the folder that is given. Fails if a link is dead. */
import { fileURLToPath } from "node:url";
import { deadLinks } from "./links.ts";
import { buildSite } from "./site.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const folder = process.argv[2] ?? `${ROOT}dist/site`;
const pages = await buildSite(ROOT, folder);
const dead = await deadLinks(folder);
for (const link of dead) process.stderr.write(`${link}\n`);
process.stdout.write(`${pages.length} pages in ${folder}: open index.html\n`);
if (dead.length > 0) process.exitCode = 1;
