import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { programVersion } from "../../../../controller/diagnostics/version.ts";
import packageJson from "../../../../package.json" with { type: "json" };

let dir: string;
const git = (...args: readonly string[]) =>
  execFileSync("git", ["-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com", ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "pipe"],
  }).trim();
const commit = (text: string) => {
  writeFileSync(join(dir, "file"), text);
  git("add", ".");
  git("commit", "--quiet", "--message", text);
};

beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "lotse-version-"));
  git("init", "--quiet");
  commit("first");
});
afterEach(() => {
  vi.unstubAllEnvs();
  rmSync(dir, { recursive: true });
});

describe("the version of the program", () => {
  it.each([
    ["v0.2.0", "0.2.0"],
    ["0.2.0", "0.2.0"],
    ["v1.0.0-rc.1", "1.0.0-rc.1"],
    ["v0.2.0-5-g1a2b3c4", "0.2.0-5-g1a2b3c4"],
    ["vintage", "vintage"],
  ])("is that of the image, LOTSE_VERSION=%s, without the v", (named, expected) => {
    expect(programVersion({ LOTSE_VERSION: named }, dir)).toBe(expected);
  });

  it("is the tag of a checkout", () => {
    git("tag", "v9.8.7");
    git("tag", "vendor/1.0"); // no version of ours
    expect(programVersion({}, dir)).toBe("9.8.7");
  });

  it("is the tag, the number of commits and the commit between two tags", () => {
    git("tag", "--annotate", "--message=x", "v9.8.7");
    commit("second");
    expect(programVersion({}, dir)).toBe(`9.8.7-1-g${git("rev-parse", "--short", "HEAD")}`);
  });

  it("says that files differ from the commit", () => {
    git("tag", "v9.8.7");
    writeFileSync(join(dir, "file"), "changed");
    expect(programVersion({}, dir)).toBe("9.8.7-dirty");
  });

  it("is that of the package without a tag, or without a checkout", () => {
    expect(programVersion({ LOTSE_VERSION: "" }, dir)).toBe(packageJson.version);
    expect(programVersion({}, tmpdir())).toBe(packageJson.version);
  });

  it("is not that of a repository that it is installed into", () => {
    git("tag", "v9.8.7");
    const installed = join(dir, "node_modules", "lotse");
    mkdirSync(installed, { recursive: true });
    expect(programVersion({}, installed)).toBe(packageJson.version);
  });

  it("is not that of another repository, which GIT_DIR names while git runs a hook", () => {
    git("tag", "v9.8.7");
    vi.stubEnv("GIT_DIR", join(process.cwd(), ".git"));
    expect(programVersion({}, dir)).toBe("9.8.7");
  });

  it("is asked of git without the token", () => {
    writeFileSync(join(dir, "git"), '#!/bin/sh\necho "v1.0.0-token:$HCLOUD_TOKEN"\n', { mode: 0o755 });
    vi.stubEnv("PATH", `${dir}:${process.env.PATH}`);
    vi.stubEnv("HCLOUD_TOKEN", "secret");
    expect(programVersion({}, dir)).toBe("1.0.0-token:");
  });
});
