/** Plans and makes a release: versions, changelog, commit and tag. Pushing is left to the maintainer. */
import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { closeSection, coreOf, isLower, isVersion, nextVersion, releaseNotes, UNRELEASED } from "./changelog.ts";
import { statedVersions, stateVersion } from "./places.ts";

/** What to release. */
export interface ReleaseOptions {
  /** A checkout of the repository. */
  readonly root: string;
  /** The version; by default the one that follows from the changelog. */
  readonly version?: string;
  /** Date of the release, such as `2026-11-17`. */
  readonly date: string;
}

/** What a release would do. */
export interface ReleasePlan {
  readonly version: string;
  readonly tag: string;
  readonly branch: string;
  /** Whether the release is already committed, as after a kill before the tag was made. */
  readonly isCommitted: boolean;
  /** Why the release cannot be made; empty if it can. */
  readonly obstacles: readonly string[];
}

const CHANGELOG = "CHANGELOG.md";

/** Decides what a release would do. Changes nothing. */
export function planRelease({ root, version: wanted }: ReleaseOptions): ReleasePlan {
  const changelog = readFileSync(join(root, CHANGELOG), "utf8");
  const tags = git(root, "tag", "--list", "v[0-9]*").split("\n").filter(Boolean);
  const unreleased = releaseNotes(changelog, UNRELEASED);
  const [current = ""] = statedVersions(root)["package.json"] ?? [];
  const isTagged = tags.includes(`v${current}`);
  // A version without a tag is the first release, or one that was committed and not tagged.
  const smallest = isTagged ? nextVersion(current, unreleased ?? "") : current;
  const version = wanted ?? smallest;
  const isCommitted = !isTagged && version === current && releaseNotes(changelog, current) !== undefined;
  const branch = git(root, "branch", "--show-current");
  const obstacles = [
    !isVersion(version) && `${version} is not a version such as 0.2.0 or 1.0.0-rc.1`,
    git(root, "status", "--porcelain") && "the working tree has changes: commit them, or undo them with git restore",
    !branch && "no branch is checked out: run git switch main",
    tags.includes(`v${version}`) && `the tag v${version} exists already`,
    (isLower(coreOf(version), smallest) || isLower(version, current)) &&
      `the changelog requires ${smallest} or higher: see docs/reference/versioning.md`,
    !isCommitted && !unreleased && `${CHANGELOG} has no text under "Unreleased": say what operators notice`,
  ].filter((obstacle) => typeof obstacle === "string" && obstacle !== "");
  return { version, tag: `v${version}`, branch, isCommitted, obstacles: obstacles as readonly string[] };
}

/** Makes the commit, unless it exists, and the tag. Throws if the plan has obstacles. */
export function makeRelease(options: ReleaseOptions): ReleasePlan {
  const plan = planRelease(options);
  const { version, tag, isCommitted, obstacles } = plan;
  if (obstacles.length > 0) throw new Error(`cannot release ${version}: ${obstacles.join("; ")}`);
  const { root, date } = options;
  if (!isCommitted) {
    const path = join(root, CHANGELOG);
    const files = stateVersion(root, version);
    writeFileSync(path, closeSection(readFileSync(path, "utf8"), version, date));
    git(root, "commit", "--quiet", "--message", `chore(release): ${version}`, "--", CHANGELOG, ...files);
  }
  git(root, "tag", "--annotate", "--message", `Lotse ${version}`, tag);
  return plan;
}

function git(root: string, ...args: readonly string[]): string {
  return execFileSync("git", ["-C", root, ...args], { encoding: "utf8", stdio: ["ignore", "pipe", "pipe"] }).trim();
}
