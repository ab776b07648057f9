import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { releaseNotes } from "../../../../dev-env/release/changelog.ts";
import { statedVersions, stateVersion } from "../../../../dev-env/release/places.ts";
import { makeRelease, planRelease } from "../../../../dev-env/release/release.ts";
import { sectionOf } from "../../../support/readme.ts";

const DATE = "2026-11-17";
const CHANGELOG = "# Changelog\n\n## Unreleased\n\n### Added\n\n- A thing.\n\n## 0.2.0 - 2026-10-01\n\n- Old.\n";

/** A clone of this repository, with the files that state a version, at the tag v0.2.0. */
let root: string;
const git = (...args: readonly string[]) =>
  execFileSync("git", ["-C", root, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
const write = (changelog: string) => {
  writeFileSync(join(root, "CHANGELOG.md"), changelog);
  git("add", "--all");
  git("commit", "--quiet", "--message", "docs: changelog");
};
const versionsIn = () => new Set(Object.values(statedVersions(root)).flat());

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "lotse-release-"));
  for (const file of Object.keys(statedVersions("."))) cpSync(file, join(root, file));
  stateVersion(root, "0.2.0");
  git("init", "--quiet", "--initial-branch=main");
  git("config", "user.name", "x");
  git("config", "user.email", "x@example.com");
  write(CHANGELOG);
  git("tag", "v0.2.0");
});
afterEach(() => rmSync(root, { recursive: true }));

describe("a release", () => {
  it("commits the version everywhere, closes the section of the changelog, and tags the commit", () => {
    const { tag } = makeRelease({ root, date: DATE });
    expect(tag).toBe("v0.3.0");
    expect(versionsIn()).toEqual(new Set(["0.3.0"]));
    expect(git("describe", "--tags", "--dirty")).toBe("v0.3.0");
    expect(git("log", "-1", "--format=%s")).toBe("chore(release): 0.3.0");
    const changelog = readFileSync(join(root, "CHANGELOG.md"), "utf8");
    expect(changelog).toContain(`## Unreleased\n\n## 0.3.0 - ${DATE}\n\n### Added\n\n- A thing.\n\n## 0.2.0`);
    expect(releaseNotes(changelog, "0.3.0")).toBe("### Added\n\n- A thing.");
  });

  it("that was killed before the tag is completed by the next call, without another commit", () => {
    makeRelease({ root, date: DATE });
    git("tag", "--delete", "v0.3.0");
    const commit = git("rev-parse", "HEAD");
    expect(makeRelease({ root, date: "2026-11-18" })).toMatchObject({ tag: "v0.3.0", isCommitted: true });
    expect(git("rev-parse", "v0.3.0^{commit}")).toBe(commit);
  });

  it("that was killed before the commit is refused until the files are restored", () => {
    writeFileSync(
      join(root, "package.json"),
      readFileSync(join(root, "package.json"), "utf8").replace("0.2.0", "0.3.0"),
    );
    expect(() => makeRelease({ root, date: DATE })).toThrow("git restore");
    git("restore", ".");
    expect(makeRelease({ root, date: DATE }).tag).toBe("v0.3.0");
  });

  it("is refused a second time", () => {
    makeRelease({ root, date: DATE });
    expect(planRelease({ root, date: DATE, version: "0.3.0" }).obstacles.join()).toContain("v0.3.0 exists already");
    expect(planRelease({ root, date: DATE }).obstacles).toEqual([
      expect.stringContaining('no text under "Unreleased"'),
    ]);
  });

  it.each([
    ["0.2.1", "requires 0.3.0 or higher"],
    ["0.1.0", "requires 0.3.0 or higher"],
    ["next", "not a version"],
    ["1.0", "not a version"],
    ["1.0.0; rm", "not a version"],
  ])("of %s is refused: %s", (version, reason) => {
    expect(planRelease({ root, date: DATE, version }).obstacles.join()).toContain(reason);
    expect(() => makeRelease({ root, date: DATE, version })).toThrow(reason);
    expect(git("status", "--porcelain")).toBe("");
  });

  it("is refused from a detached commit, because a push would not move a branch", () => {
    git("checkout", "--quiet", "--detach");
    expect(planRelease({ root, date: DATE }).obstacles).toEqual(["no branch is checked out: run git switch main"]);
  });

  it("may be a pre-release, which its release follows", () => {
    expect(makeRelease({ root, date: DATE, version: "0.3.0-rc.1" }).tag).toBe("v0.3.0-rc.1");
    write(readFileSync(join(root, "CHANGELOG.md"), "utf8").replace("## Unreleased\n", "## Unreleased\n\n- Fix.\n"));
    expect(planRelease({ root, date: DATE })).toMatchObject({ version: "0.3.0", obstacles: [] });
    expect(planRelease({ root, date: DATE, version: "0.3.0-rc.0" }).obstacles).toHaveLength(1);
  });

  it("of a version without a tag is the first one", () => {
    git("tag", "--delete", "v0.2.0");
    write(CHANGELOG.split("## 0.2.0")[0] ?? "");
    expect(makeRelease({ root, date: DATE }).tag).toBe("v0.2.0");
  });
});

describe("docs/reference/versioning.md # Make a release: the command", () => {
  const release = (...args: readonly string[]) =>
    spawnSync(process.execPath, ["dev-env/release/main.ts", "--root", root, ...args], { encoding: "utf8" });

  it("is an npm script, with the flag that the page shows", () => {
    expect(sectionOf(readFileSync("docs/reference/versioning.md", "utf8"), "Make a release")).toContain(
      "-- --dry-run ",
    );
    expect(JSON.parse(readFileSync("package.json", "utf8")).scripts.release).toBe("node dev-env/release/main.ts");
  });

  /** Replaces the checks of the checkout by a command, and commits that. */
  const checkWith = (command: string) => {
    const path = join(root, "package.json");
    writeFileSync(path, readFileSync(path, "utf8").replace(/"check": ".*"/, `"check": "${command}"`));
    git("commit", "--quiet", "--all", "--message", "checks");
  };

  it("says with --dry-run which tag would be made and which push is left, and changes nothing", () => {
    checkWith("true");
    const before = git("rev-parse", "HEAD");
    const { stdout, status } = release("--dry-run");
    expect(status).toBe(0);
    expect(stdout).toContain("npm run package and npm run image build what the release publishes");
    expect(stdout).toContain("the tag v0.3.0 would be made");
    expect(stdout).toContain("git push --atomic origin main v0.3.0");
    expect([git("rev-parse", "HEAD"), git("status", "--porcelain"), git("tag")]).toEqual([before, "", "v0.2.0"]);
  });

  it.each(["v0.3.0", "--dry-run"])("makes no commit and no tag if the checks fail: %s", (argument) => {
    checkWith("false");
    const { stderr, status } = release(argument);
    expect([status, stderr, git("tag")]).toEqual([1, expect.stringContaining("npm run check failed"), "v0.2.0"]);
  });

  it("makes commit and tag if they pass", () => {
    checkWith("true");
    expect(release("v0.3.0")).toMatchObject({ status: 0, stdout: expect.stringContaining("the tag v0.3.0 is made") });
    expect(git("describe", "--tags", "--dirty")).toBe("v0.3.0");
  });

  it.each([
    [["v0.2.0", "--notes"], 0, "- Old.\n"],
    [["v7.0.0", "--notes"], 1, ""],
  ])("prints release notes: %j", (args, code, text) => {
    expect(release(...args)).toMatchObject({ status: code, stdout: text });
  });

  it("reports every obstacle", () => {
    write("# Changelog\n\n## Unreleased\n");
    writeFileSync(join(root, "stray"), "");
    const { stderr, status } = release("--dry-run");
    expect(status).toBe(1);
    expect(stderr.trim().split("\n")).toHaveLength(2);
  });
});
