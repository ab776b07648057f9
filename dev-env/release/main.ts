/**
 * `npm run release -- [version] [--dry-run]`: checks, then commits and tags a release. With --dry-run, says what would be
 * tagged instead. With --notes, prints the release notes of a version, which the release workflow publishes.
 */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { releaseNotes } from "./changelog.ts";
import { makeRelease, planRelease, type ReleasePlan } from "./release.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    "dry-run": { type: "boolean" },
    notes: { type: "boolean" },
    /** Another checkout, for tests. */
    root: { type: "string", default: ROOT },
  },
});
const [version = ""] = positionals.map((text) => text.replace(/^v/, ""));
if (values.notes) printNotes();
else release();

function printNotes(): void {
  const notes = releaseNotes(readFileSync(`${values.root}/CHANGELOG.md`, "utf8"), version);
  if (notes === undefined) fail(`CHANGELOG.md has no section for ${version || "this version"}`);
  else process.stdout.write(`${notes}\n`);
}

function release(): void {
  const date = new Date().toISOString().slice(0, 10);
  const options = { root: values.root, date, ...(version && { version }) };
  const plan = planRelease(options);
  if (plan.obstacles.length > 0) for (const obstacle of plan.obstacles) fail(obstacle);
  else if (!passesCheck()) fail("npm run check failed");
  else if (values["dry-run"]) {
    process.stdout.write(
      "npm run package and npm run image build what the release publishes, so that you can look at it first.\n",
    );
    say(plan, "would be made");
  } else say(makeRelease(options), "is made");
}

function passesCheck(): boolean {
  return spawnSync("npm", ["run", "--silent", "check"], { cwd: values.root, stdio: "inherit" }).status === 0;
}

function say({ tag, branch, isCommitted }: ReleasePlan, fate: string): void {
  const commit = isCommitted ? "the release is committed already" : "versions and CHANGELOG.md are committed";
  process.stdout.write(
    `${commit}; the tag ${tag} ${fate}. Then publish it:\n  git push --atomic origin ${branch} ${tag}\n`,
  );
}

function fail(message: string): void {
  process.stderr.write(`release: ${message}\n`);
  process.exitCode = 1;
}
