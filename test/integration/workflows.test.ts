/** Checks the workflows of GitHub with actionlint, and runs those of their scripts that need neither Docker nor GitHub. */
import { execFileSync, spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import packageJson from "../../package.json" with { type: "json" };
import { sectionOf, shellLines } from "../support/readme.ts";
import { SCRIPTS } from "../support/workflows.ts";

const DIGEST = `sha256:${"0123456789abcdef".repeat(4)}`;
const IMAGE = "ghcr.io/example/lotse";
const TAG = `v${packageJson.version}`;

let dir: string;
let binDir: string;
let actionlint: string;
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "lotse-workflows-"));
  const { paths } = await ensureToolchain(["helm", "actionlint"]);
  binDir = dirname(paths.helm);
  actionlint = paths.actionlint;
  mkdirSync(join(dir, "out"));
  for (const folder of ["controller/deploy/chart", "controller/deploy/manifests", "dev-env/release"])
    cpSync(folder, join(dir, folder), { recursive: true });
  mkdirSync(join(dir, "image"));
  writeFileSync(join(dir, "image", "lotse-amd64.spdx.json"), "{}");
  writeFileSync(join(dir, "out", "lotse.tgz"), "archive");
});
const goEnv = (name: string) => execFileSync("go", ["env", name], { encoding: "utf8" }).trim();
afterAll(() => rmSync(dir, { recursive: true }));

describe("actionlint", () => {
  // Neither shellcheck nor pyflakes is among the pinned tools.
  const lint = (...files: readonly string[]) =>
    spawnSync(actionlint, ["-shellcheck=", "-pyflakes=", "-no-color", ...files], { encoding: "utf8" });

  it("finds nothing in the workflows", () => {
    expect(lint()).toMatchObject({ status: 0, stdout: "" });
  });

  it.each([
    ["a runner that does not exist", "runs-on: ubuntu-24.04", "runs-on: ubuntu-24.05"],
    ["an expression with an unknown name", "github.ref_name", "github.ref_nmae"],
    ["a job that does not exist", "needs: build", "needs: biuld"],
    ["a permission that does not exist", "id-token: write", "id-tokens: write"],
  ])("finds %s", (_, right, wrong) => {
    const text = readFileSync(".github/workflows/release.yml", "utf8");
    expect(text).toContain(right);
    const file = join(dir, "broken.yml");
    writeFileSync(file, text.replace(right, wrong));
    expect(lint(file).status).toBe(1);
  });
});

describe("scripts of the release", () => {
  /** Runs a script as the runner does, in a copy of the repository. */
  const run = (name: string, env: Readonly<Record<string, string>> = {}, folder = ".") => {
    const script = SCRIPTS.find((it) => it.name === name)?.run ?? "exit 9";
    const path = [binDir, dirname(process.execPath), process.env.PATH].join(delimiter);
    return execFileSync("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", script], {
      cwd: join(dir, folder),
      env: { PATH: path, HOME: dir, TAG, IMAGE, REFERENCE: `${TAG}@${DIGEST}`, ...env },
      encoding: "utf8",
      stdio: ["ignore", "pipe", "pipe"],
    });
  };

  it("take the notes from the changelog, and fail without a section", () => {
    mkdirSync(join(dir, ".lotse/release"), { recursive: true });
    writeFileSync(
      join(dir, "CHANGELOG.md"),
      `# Changelog\n\n## Unreleased\n\n## ${packageJson.version} - 2026-11-17\n\n- New.\n`,
    );
    run("Release notes");
    expect(readFileSync(join(dir, ".lotse/release/notes.md"), "utf8")).toBe("- New.\n");
    expect(() => run("Release notes", { TAG: "v99.0.0" })).toThrow("no section for 99.0.0");
  });

  it("build crane from its pin, and put it on PATH", () => {
    cpSync("dev-env/toolchain/go/crane", join(dir, "dev-env/toolchain/go/crane"), { recursive: true });
    const [file, caches] = [join(dir, "path"), { GOCACHE: goEnv("GOCACHE"), GOMODCACHE: goEnv("GOMODCACHE") }];
    run("Build crane from its pin", { GITHUB_PATH: file, GOPROXY: goEnv("GOPROXY"), ...caches });
    const crane = join(readFileSync(file, "utf8").trim(), "crane");
    expect(execFileSync(crane, ["version"], { encoding: "utf8" })).toMatch(/\d/);
  });

  it("name the image by digest in the chart and in the manifests", () => {
    run("Name the image by digest in chart and manifests");
    const reference = `${IMAGE}:${TAG}@${DIGEST}`;
    const rendered = execFileSync(join(binDir, "helm"), ["template", join(dir, "controller/deploy/chart")], {
      encoding: "utf8",
    });
    const manifests = readdirSync(join(dir, "out")).filter((file) => file.endsWith(".yaml"));
    expect(manifests).toEqual(["lotse-networks.yaml", "lotse.yaml"]);
    for (const text of [rendered, ...manifests.map((file) => readFileSync(join(dir, "out", file), "utf8"))]) {
      const workload = parseAllDocuments(text)
        .map((it) => it.toJS())
        .find((it) => it?.kind === "Deployment");
      expect(workload.spec.template.spec.containers[0].image).toBe(reference);
    }
  });

  it("package the chart with this version", () => {
    run("Package the chart");
    const file = join(dir, "charts", `lotse-${packageJson.version}.tgz`);
    const chart = execFileSync("tar", ["--extract", "--to-stdout", "--file", file, "lotse/Chart.yaml"], {
      encoding: "utf8",
    });
    const { annotations, ...versions } = parse(chart);
    expect(versions).toMatchObject({ version: packageJson.version, appVersion: packageJson.version });
    expect(parse(annotations["artifacthub.io/images"])[0].image).toBe(`${IMAGE}:${TAG}@${DIGEST}`);
  });

  it("list the digest of every file", () => {
    run("Checksums", {}, "out");
    const sums = readFileSync(join(dir, "out/SHA256SUMS"), "utf8");
    expect(sums.trim().split("\n")).toHaveLength(4);
    expect(sums).toContain(`${createHash("sha256").update("archive").digest("hex")}  lotse.tgz`);
  });

  it("docs/how-to/verify.md: the digests are verified, and a changed file is found", () => {
    const [line = ""] = shellLines(sectionOf(readFileSync("docs/how-to/verify.md", "utf8"), "The files"));
    const verify = () => spawnSync("sh", ["-c", line], { cwd: join(dir, "out"), encoding: "utf8" });
    expect(verify()).toMatchObject({ status: 0, stdout: expect.stringContaining("lotse.tgz: OK") });
    writeFileSync(join(dir, "out", "lotse.tgz"), "replaced");
    expect(verify()).toMatchObject({ status: 1, stdout: expect.stringContaining("lotse.tgz: FAILED") });
  });
});
