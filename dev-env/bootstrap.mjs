// Installs the npm packages of package-lock.json if they are missing or outdated. Plain JavaScript without dependencies,
// because on a fresh clone it runs before anything is installed, with the Node of the machine. Every script in
// package.json that starts something calls it first.
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

  // Not `npm ci`, which rejects a lock file that lacks the optional packages of other platforms, and not every registry
  // has them all. The versions of the lock file are used, and the file is not changed.
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
      `${output}\nnpm install failed (${code}): check that the npm registry is reachable, then rerun the command\n`,
    );
    process.exit(1);
  }
  writeFileSync(stamp, wanted);
  show(`${live ? "\r" : ""}npm packages installed in ${elapsed()}   \n`);
}

function show(text) {
  process.stdout.write(text);
}
