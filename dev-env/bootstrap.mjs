// Brings node_modules in line with package-lock.json. Plain JavaScript without dependencies, because on a fresh clone
// it runs before anything is installed, with whatever Node the machine has. Every entry script of package.json calls it.
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const root = fileURLToPath(new URL("..", import.meta.url));
const stamp = join(root, "node_modules", ".lotse-lock");
const wanted = createHash("sha256")
  .update(readFileSync(join(root, "package-lock.json")))
  .digest("hex");

const installed = existsSync(stamp) ? readFileSync(stamp, "utf8") : "";
if (installed !== wanted) await install();

async function install() {
  const started = Date.now();
  const elapsed = () => `${Math.round((Date.now() - started) / 1000)} s`;
  const live = process.stdout.isTTY
    ? setInterval(() => show(`\rinstalling npm packages … ${elapsed()}`), 500)
    : undefined;
  if (!live) show("installing npm packages …\n");

  // Not `npm ci`: it refuses a lock file without the optional packages of every platform, and not every registry has
  // them all. The versions in the lock file are kept to, and the file is left as it is.
  const npm = spawn("npm", ["install", "--no-save", "--no-audit", "--no-fund", "--loglevel=error"], {
    cwd: root,
    stdio: ["ignore", "pipe", "pipe"],
  });
  let output = "";
  for (const stream of [npm.stdout, npm.stderr]) stream.on("data", (chunk) => (output += chunk));
  const code = await new Promise((resolve) => {
    npm.on("error", (error) => resolve(error.message));
    npm.on("close", resolve);
  });
  clearInterval(live);
  if (code !== 0) {
    process.stderr.write(
      `${output}\nnpm install failed (${code}): check that the npm registry can be reached, then run the same command again\n`,
    );
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
  show(`${live ? "\r" : ""}npm packages installed in ${elapsed()}   \n`);
}

function show(text) {
  process.stdout.write(text);
}
