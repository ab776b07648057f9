import { execFile, execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parse } from "yaml";
import { programVersion } from "../../controller/diagnostics/version.ts";
import { type Cloud, startCloud } from "../../dev-env/cloud/cloud.ts";
import { type Cluster, startCluster } from "../../dev-env/cluster/cluster.ts";
import { type Packaged, writePackage } from "../../dev-env/package/package.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import { sectionOf, shellLines } from "../support/readme.ts";

const MARKDOWN = readFileSync("docs/how-to/command-line.md", "utf8");
const PAGE = {
  "With npm": shellLines(sectionOf(MARKDOWN, "With npm")),
  "With krew": shellLines(sectionOf(MARKDOWN, "With krew")),
};

describe("the command line as a package", () => {
  let dir: string;
  let cloud: Cloud;
  let cluster: Cluster;
  let packaged: Packaged;
  let kubectl: string;

  beforeAll(async () => {
    dir = mkdtempSync(join(tmpdir(), "lotse-package-test-"));
    packaged = writePackage({ root: process.cwd(), outDir: join(dir, "out"), baseUrl: "https://example.com/v1" });
    [cloud, cluster] = await Promise.all([startCloud(), startCluster()]);
    kubectl = (await ensureToolchain(["kubectl"])).paths.kubectl;
  }, 600_000);
  afterAll(async () => {
    await Promise.all([cluster?.stop(), cloud?.stop()]);
    rmSync(dir, { recursive: true, force: true });
  });

  /** Runs a command outside the checkout, with nothing but these folders and Node on PATH. */
  const pathWith = (bin: string) =>
    [bin, dirname(kubectl), dirname(process.execPath), "/usr/bin", "/bin"].join(delimiter);
  const run = (bin: string, command: string, ...args: readonly string[]) => {
    const env = { PATH: pathWith(bin), HOME: dir, KUBECONFIG: cluster.kubeconfig, HCLOUD_TOKEN: cloud.token };
    const options = { cwd: dir, env: { ...env, HCLOUD_ENDPOINT: cloud.url } };
    return new Promise<{ code: number; stdout: string; stderr: string }>((resolve) => {
      execFile(command, args, options, (error, stdout, stderr) =>
        resolve({ code: error ? Number(error.code) : 0, stdout, stderr }),
      );
    });
  };

  /** npm into an empty folder, without a network; and krew, which unpacks the archive and links `bin`. */
  const INSTALLERS = {
    npm: () => {
      const [line = ""] = PAGE["With npm"];
      expect(line).toMatch(/^npm install --global \S+\.tgz$/);
      const [, ...args] = line.replace(/\S+$/, packaged.archive).split(" ");
      execFileSync("npm", [...args, "--offline", "--ignore-scripts", "--prefix", join(dir, "npm")]);
      return join(dir, "npm", "bin");
    },
    krew: () => {
      const { files, bin } = parse(readFileSync(packaged.krewManifest, "utf8")).spec.platforms[0];
      expect(files).toEqual([{ from: "package/*", to: "." }]);
      const [store, links] = [join(dir, "krew", "store"), join(dir, "krew", "bin")];
      for (const folder of [store, links]) mkdirSync(folder, { recursive: true });
      execFileSync("tar", ["--extract", "--strip-components=1", "--directory", store, "--file", packaged.archive]);
      execFileSync("ln", ["-s", join(store, bin), join(links, "kubectl-lotse")]);
      const [, ...lines] = PAGE["With krew"];
      const script = lines.join("\n").replaceAll("~/.local/bin", links);
      expect(lines).toHaveLength(2);
      execFileSync("sh", ["-ec", script], { env: { PATH: pathWith(links), HOME: dir } });
      return links;
    },
  } as const;

  describe.each(Object.entries(INSTALLERS))("installed by %s", (_, install) => {
    let bin: string;
    beforeAll(() => {
      bin = install();
    });

    it("is a plugin of kubectl, with its own name in the help", async () => {
      expect((await run(bin, "kubectl", "plugin", "list")).stdout).toContain(`${bin}/kubectl-lotse\n`);
      const { stdout, stderr, code } = await run(bin, "kubectl", "lotse", "preview", "--help");
      expect([code, stderr]).toEqual([0, ""]);
      expect(stdout).toContain("Usage: kubectl lotse preview [options] [manifests...]");
    });

    it("states the version and the commit that it was built from", async () => {
      const { stdout } = await run(bin, "kubectl", "lotse", "version", "--json");
      const commit = execFileSync("git", ["rev-parse", "--short", "HEAD"], { encoding: "utf8" }).trim();
      expect(JSON.parse(stdout)).toMatchObject({ lotse: programVersion(), commit });
      expect((await run(bin, "kubectl", "lotse", "--version")).stdout).toBe(`${programVersion()}\n`);
    });

    it("renders and previews a cluster", async () => {
      expect(await run(bin, "kubectl", "lotse", "render", "--json")).toMatchObject({ code: 0, stderr: "" });
      expect(await run(bin, "kubectl", "lotse", "preview")).toMatchObject({ code: 0, stderr: "" });
    });

    it("completes its arguments in kubectl", async () => {
      const { stdout } = await run(bin, "kubectl", "__complete", "lotse", "prev");
      expect(stdout.split("\n").slice(0, 2)).toEqual(["preview", ":4"]);
    });

    it("reports a mistake without a stack trace", async () => {
      const { code, stderr } = await run(bin, "kubectl", "lotse", "undo", "nonsense");
      expect([code, stderr.split("\n").length]).toEqual([1, 2]);
    });
  });

  it("docs/how-to/command-line.md: the commands work after an installation with npm", async () => {
    const lines = PAGE["With npm"].slice(1);
    expect(lines).toEqual(["lotse version", "kubectl lotse version", "kubectl lotse preview --help"]);
    for (const line of lines) {
      const [command = "", ...args] = line.split(" ");
      expect(await run(join(dir, "npm", "bin"), command, ...args)).toMatchObject({ code: 0, stderr: "" });
    }
  });

  it("has a manifest for krew with the digest and the address of the archive", () => {
    const { metadata, spec } = parse(readFileSync(packaged.krewManifest, "utf8"));
    const sha256 = createHash("sha256").update(readFileSync(packaged.archive)).digest("hex");
    const uri = `https://example.com/v1/lotse-${programVersion()}.tgz`;
    expect([metadata.name, spec.version]).toEqual(["lotse", `v${programVersion()}`]);
    expect(spec.platforms).toEqual([expect.objectContaining({ uri, sha256, bin: "kubectl-lotse" })]);
  });

  it("contains no links, which krew rejects, no sources, and nothing of the development environment", () => {
    const listed = execFileSync("tar", ["--list", "--verbose", "--file", packaged.archive], {
      encoding: "utf8",
      maxBuffer: 10_000_000,
    });
    const lines = listed.trim().split("\n");
    expect(lines.filter((line) => !line.startsWith("-"))).toEqual([]);
    const own = lines
      .map((line) => line.split(" package/")[1] ?? "")
      .filter((path) => !path.startsWith("node_modules/"));
    expect(own.filter((path) => /\.ts$|^(dev-env|test)\//.test(path))).toEqual([]);
    expect(lines.some((line) => line.includes("node_modules/typescript/"))).toBe(false);
  });
});
