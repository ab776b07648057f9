// Compares the tokens the plugin serves with those the npm package asks for:
//   node check-tokens.mjs PLUGIN_BINARY node_modules/@pulumi/hcloud
// Run it after changing a version. Exits 1 when the package asks for something the plugin lacks.
import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const [plugin, sdk] = process.argv.slice(2);
if (!plugin || !sdk) {
  process.stderr.write("usage: node check-tokens.mjs PLUGIN_BINARY SDK_DIRECTORY\n");
  process.exit(2);
}

const info = JSON.parse(execFileSync(plugin, ["--get-provider-info"], { maxBuffer: 64 * 1024 * 1024 }).toString());
const source = readdirSync(sdk)
  .filter((file) => file.endsWith(".js"))
  .map((file) => readFileSync(join(sdk, file), "utf8"))
  .join("\n");

const found = (pattern) => new Set([...source.matchAll(pattern)].map((match) => match[1]));
const served = (table) => new Set(Object.values(table).map((entry) => entry.tok));
const kinds = [
  ["resources", found(/__pulumiType = '(\w+:[^']+)'/g), served(info.resources)],
  ["functions", found(/runtime\.invoke(?:Output)?\("([^"]+)"/g), served(info.dataSources)],
];

let complete = true;
for (const [kind, asked, has] of kinds) {
  const missing = [...asked].filter((token) => !has.has(token));
  const unused = [...has].filter((token) => !asked.has(token));
  process.stdout.write(
    `${kind}: ${asked.size} asked, ${missing.length} missing, ${unused.length} only in the plugin\n`,
  );
  for (const token of [...missing.map((t) => `missing ${t}`), ...unused.map((t) => `unused  ${t}`)])
    process.stdout.write(`  ${token}\n`);
  complete &&= asked.size > 0 && missing.length === 0;
}

const wanted = JSON.parse(readFileSync(join(sdk, "package.json"), "utf8")).version;
process.stdout.write(`version: package ${wanted}, plugin ${info.version}\n`);
process.exit(complete && wanted === info.version ? 0 : 1);
