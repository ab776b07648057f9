/**
 * The image as `npm run image` builds it, and its way into a cluster: scripts of the release workflow publish, sign and
 * attest it in a registry on loopback, and the commands of docs/how-to/verify.md verify it. A throw-away key takes the place
 * of the workflow's identity.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { parseAllDocuments } from "yaml";
import { provideBase, unpackBase } from "../../dev-env/image/base.ts";
import { copiesOf, parseDockerfile, textsOf } from "../../dev-env/image/dockerfile.ts";
import { crane, withRegistry } from "../../dev-env/image/oci.ts";
import { type Architecture, ensureToolchain, hasEngine, imageTools } from "../../dev-env/toolchain/toolchain.ts";
import packageJson from "../../package.json" with { type: "json" };
import lock from "../../package-lock.json" with { type: "json" };
import { Container, whyNoContainers } from "../support/container.ts";
import { sectionOf, shellLines } from "../support/readme.ts";
import { SCRIPTS } from "../support/workflows.ts";

const ARCHITECTURES: readonly Architecture[] = hasEngine("arm64") ? ["amd64", "arm64"] : ["amd64"];
if (!hasEngine("arm64"))
  process.stderr.write("SKIPPED: the image for arm64, because its engine is not built; npm run image builds it\n");

/** A commit during the test must not change the image. */
const BUILD = {
  LOTSE_VERSION: `v${packageJson.version}`,
  LOTSE_COMMIT: "f".repeat(40),
  SOURCE_DATE_EPOCH: "1780000000",
};
const TAG = `v${packageJson.version}`;
const REPOSITORY = "example/lotse";
const IDENTITY = `https://github.com/${REPOSITORY}/.github/workflows/release.yml@refs/tags/${TAG}`;
const MAX_MB = 150;
const STAGES = parseDockerfile(readFileSync("controller/deploy/Dockerfile", "utf8"));
const final = STAGES.at(-1) ?? { name: "", base: "", instructions: [] };

/** ELF's numbers of machines. */
const MACHINES = { amd64: 62, arm64: 183 } as const;

let dir: string;
let layout: string;
let path: string;

beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), "lotse-image-test-"));
  const { paths } = await ensureToolchain(["helm", ...imageTools]);
  path = [join(dir, "bin"), dirname(paths.crane), dirname(process.execPath), process.env.PATH].join(delimiter);
  build("image", ARCHITECTURES);
  layout = join(dir, "image/layout");
}, 1_500_000);
afterAll(() => rmSync(dir, { recursive: true, force: true }));

/** Runs `npm run image` with an unusual umask and time zone, neither of which may change the result. */
function build(folder: string, architectures: readonly Architecture[], umask = "022", ...more: string[]): void {
  const platforms = architectures.map((it) => `linux/${it}`).join(",");
  const args = ["dev-env/image/main.ts", "--platform", platforms, "--out", join(dir, folder), ...more];
  execFileSync("sh", ["-c", `umask ${umask} && exec "$@"`, "build", process.execPath, ...args], {
    env: { ...process.env, TZ: umask === "022" ? "UTC" : "Asia/Tokyo", ...BUILD },
    stdio: ["ignore", "ignore", "inherit"],
  });
}

const blob = (digest: string) => readFileSync(join(layout, "blobs", digest.replace(":", "/")));
const json = (digest: string) => JSON.parse(blob(digest).toString());

/** The manifest for an architecture. */
function manifestOf(architecture: Architecture, from = layout) {
  const read = (digest: string) => JSON.parse(readFileSync(join(from, "blobs", digest.replace(":", "/")), "utf8"));
  const [index] = JSON.parse(readFileSync(join(from, "index.json"), "utf8")).manifests;
  const found = read(index.digest).manifests.find(
    (it: { platform: { architecture: string } }) => it.platform.architecture === architecture,
  );
  return { digest: found.digest as string, ...read(found.digest) };
}

/** Unpacks all layers above the base, as Docker would. */
function unpack(architecture: Architecture): string {
  const root = join(dir, `root-${architecture}`);
  mkdirSync(root, { recursive: true });
  const layers: readonly { digest: string }[] = manifestOf(architecture).layers;
  const folders = copiesOf(final).map(({ target }) => (target.startsWith("/") ? target.split("/")[1] : "app"));
  for (const { digest } of layers.slice(-new Set(folders).size))
    execFileSync("tar", ["--extract", "--gzip", `--directory=${root}`], { input: blob(digest), maxBuffer: 1e9 });
  return root;
}

describe.each(ARCHITECTURES)("the image for linux/%s", (architecture) => {
  let root: string;
  beforeAll(() => {
    root = unpack(architecture);
  }, 120_000);

  it("starts as the Dockerfile says, as an unprivileged user", () => {
    const { config, architecture: stated } = json(manifestOf(architecture).config.digest);
    const words = (keyword: string) => JSON.parse(textsOf(final, keyword)[0] ?? "[]");
    expect(stated).toBe(architecture);
    expect(config).toMatchObject({
      Entrypoint: words("ENTRYPOINT"),
      Cmd: words("CMD"),
      User: textsOf(final, "USER")[0],
      WorkingDir: "/app",
      ExposedPorts: { "8233/tcp": {}, "10258/tcp": {} },
      Labels: { "org.opencontainers.image.version": TAG, "org.opencontainers.image.licenses": "Apache-2.0" },
    });
    expect(config.Env).toEqual(expect.arrayContaining([`LOTSE_VERSION=${TAG}`, "NODE_ENV=production"]));
  });

  it("contains what the Dockerfile copies, and nothing else above its base", () => {
    const targets = copiesOf(final).map(({ target, sources: [source = ""] }) => {
      const file = target === "./" ? source : target;
      return file.startsWith("/") ? file.slice(1) : join("app", file);
    });
    const files = readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((it) => !it.isDirectory())
      .map((it) => join(it.parentPath, it.name).slice(root.length + 1));
    for (const target of targets) expect(files.filter((it) => isBelow(it, target)).length, target).toBeGreaterThan(0);
    const sources = execFileSync("git", ["ls-files", "controller/*.ts", "stacks/*.ts"], { encoding: "utf8" }).trim();
    const compiled = sources.split("\n").map((file) => join("app", file.replace(/\.ts$/, ".js")));
    const own = targets.filter((target) => target !== "app");
    expect(files.filter((it) => !own.some((target) => isBelow(it, target))).toSorted()).toEqual(
      [...compiled, "app/package.json"].toSorted(),
    );
  });

  it("contains the production packages of the lock file and no others, without native code", () => {
    const locked = Object.entries(lock.packages as Record<string, LockedPackage>).filter(([name]) => name !== "");
    const isTool = (name: string) => name.replace("node_modules/", "") in packageJson.devDependencies;
    const forbidden = locked.filter(([name, { dev, devOptional }]) => dev || (devOptional && isTool(name)));
    const required = locked.filter(([, it]) => !it.dev && !it.devOptional && !it.optional).map(([name]) => name);
    const file = join(root, "app/node_modules/.package-lock.json");
    const installed = Object.keys(JSON.parse(readFileSync(file, "utf8")).packages);
    expect(required.length).toBeGreaterThan(100);
    expect(required.filter((name) => !installed.includes(name))).toEqual([]);
    expect(forbidden.length).toBeGreaterThan(100);
    expect(forbidden.filter(([name]) => installed.includes(name))).toEqual([]);
    const names = readdirSync(join(root, "app"), { recursive: true, encoding: "utf8" });
    expect(names.filter((name) => name.endsWith(".node"))).toEqual([]);
  });

  it("contains binaries for its architecture, in the pinned versions", () => {
    const binaries = ["usr/local/bin/node", "usr/local/bin/tini", "usr/local/bin/launch", "opt/pulumi/pulumi"];
    const plugin = readdirSync(join(root, "opt/pulumi/plugins")).map(
      (name) => `opt/pulumi/plugins/${name}/pulumi-resource-hcloud`,
    );
    for (const file of [...binaries, ...plugin])
      expect([file, readFileSync(join(root, file)).readUInt16LE(18)]).toEqual([file, MACHINES[architecture]]);
    const node = readFileSync(join(root, "usr/local/bin/node"));
    expect(node.includes(`v${packageJson.devDependencies.node}`)).toBe(true);
  });

  it(`is at most ${MAX_MB} MB to pull`, () => {
    const layers: readonly { size: number }[] = manifestOf(architecture).layers;
    const megabytes = layers.reduce((sum, { size }) => sum + size, 0) / 1e6;
    process.stdout.write(`linux/${architecture}: ${megabytes.toFixed(1)} MB\n`);
    expect(megabytes).toBeLessThan(MAX_MB);
  });

  it("has a bill of materials with npm packages, Go modules of engine and plugin, and Debian packages", () => {
    const { packages } = JSON.parse(readFileSync(join(dir, "image", `lotse-${architecture}.spdx.json`), "utf8"));
    const listed = new Set(
      packages.map((it: { name: string; versionInfo: string }) => `${it.name}@${it.versionInfo.replace(/^v/, "")}`),
    );
    const npm = Object.entries(packageJson.dependencies).map(([name, version]) => `${name}@${version}`);
    const go = ["pulumi/pulumi", "pulumi/plugins/*/pulumi-resource-hcloud"].flatMap((file) =>
      modulesOf(execFileSync("sh", ["-c", `go version -m ${join(root, "opt", file)}`], { encoding: "utf8" })),
    );
    expect(go.length).toBeGreaterThan(300);
    expect([...npm, ...go].filter((it) => !listed.has(it))).toEqual([]);
    expect([...listed].some((it) => String(it).startsWith("libc6@2.36-"))).toBe(true);
  });
});

interface LockedPackage {
  readonly dev?: boolean;
  readonly devOptional?: boolean;
  readonly optional?: boolean;
}

const isBelow = (file: string, folder: string) => file === folder || file.startsWith(`${folder}/`);

/** Modules in the output of `go version -m`, as `name@version`. A replaced module has its replacement in the next line. */
function modulesOf(output: string): readonly string[] {
  const lines = output.split("\n").map((line) => line.split("\t"));
  return lines.flatMap(([, kind, name = "", version = ""], index) =>
    (kind === "dep" && lines[index + 1]?.[1] !== "=>") || kind === "=>" ? [`${name}@${version.replace(/^v/, "")}`] : [],
  );
}

it.skipIf(whyNoContainers())(
  "runs",
  async () => {
    const root = unpack("amd64");
    await unpackBase(await provideBase(final.base, "amd64"), "amd64", root);
    const { config } = json(manifestOf("amd64").config.digest);
    const env = Object.fromEntries(config.Env.map((pair: string) => pair.split("=")));
    const container = new Container({ root, user: 65_532, command: [...config.Entrypoint, "version"], env });
    expect([await container.ended, container.output]).toEqual([
      0,
      expect.stringContaining(`lotse    ${packageJson.version}\n`),
    ]);
    expect(container.output).toContain("hcloud   ");
    expect(container.output).not.toContain("not installed");
  },
  120_000,
);

it("is the same, byte for byte, when it is built again with another umask and time zone", () => {
  build("again", ["amd64"], "077", "--no-sbom");
  expect(manifestOf("amd64", join(dir, "again/layout")).digest).toBe(manifestOf("amd64").digest);
}, 600_000);

describe("a release in a registry", () => {
  /** Runs scripts of the workflow as the runner does, and commands of the page as a user would. */
  const shell = (script: string, env: Readonly<Record<string, string>> = {}, folder = "") =>
    spawnSync("bash", ["--noprofile", "--norc", "-eo", "pipefail", "-c", script], {
      cwd: join(dir, "work", folder),
      env: { PATH: path, HOME: dir, GITHUB_OUTPUT: join(dir, "outputs"), ...env },
      encoding: "utf8",
    });
  const page = readFileSync("docs/how-to/verify.md", "utf8");

  it("is published, signed and attested by the workflow, and verified by the commands of docs/how-to/verify.md", async () => {
    prepare();
    await withRegistry(async (host) => {
      const [IMAGE, CHARTS] = [`${host}/${REPOSITORY}`, `${host}/example/charts`];
      const env: Record<string, string> = { TAG, IMAGE, CHARTS };
      const step = (name: string, folder = "") => {
        const script = SCRIPTS.find((it) => it.name === name)?.run ?? "exit 9";
        const { status, stdout, stderr } = shell(script, env, folder);
        expect([name, status, status === 0 ? "" : stdout + stderr]).toEqual([name, 0, ""]);
        const outputs = readFileSync(join(dir, "outputs"), "utf8");
        return outputs.trim().split("=").at(-1) ?? "";
      };
      env.IMAGE_DIGEST = step("Publish the image");
      expect(env.IMAGE_DIGEST).toBe(await crane("digest", `${IMAGE}:${TAG}`));
      env.REFERENCE = `${TAG}@${env.IMAGE_DIGEST}`;
      step("Name the image by digest in chart and manifests");
      step("Package the chart");
      env.CHART_DIGEST = step("Publish the chart");
      step("Checksums", "out");
      step("Sign");
      step("Attest provenance and bills of materials");

      const sections = ["The files", "The signatures", "The provenance", "The bill of materials", "The chart"];
      const commands = sections.flatMap((heading) => shellLines(sectionOf(page, heading)));
      const script = commands
        .filter((line) => !line.startsWith("gh "))
        .join("\n")
        .replaceAll("ghcr.io/OWNER", `${host}/example`)
        .replaceAll("ghcr.io", host)
        .replaceAll("OWNER/lotse", REPOSITORY);
      const verified = shell(script, {}, "out");
      expect([verified.status, verified.status === 0 ? "" : verified.stderr]).toEqual([0, ""]);
      const identities = readFileSync(join(dir, "identities"), "utf8").trim().split("\n");
      expect(new Set(identities)).toEqual(new Set([IDENTITY, "https://token.actions.githubusercontent.com"]));
      const [workload] = parseAllDocuments(readFileSync(join(dir, "work/out/rendered.yaml"), "utf8"))
        .map((it) => it.toJS())
        .filter((it) => it?.kind === "Deployment");
      expect(workload.spec.template.spec.containers[0].image).toBe(`${IMAGE}:${TAG}@${env.IMAGE_DIGEST}`);

      await refusals(host, env.IMAGE_DIGEST);
    });
  }, 300_000);

  /** Verification fails for a replaced image, another key, another kind of statement, and a changed file. */
  async function refusals(host: string, digest: string): Promise<void> {
    const image = `${host}/${REPOSITORY}`;
    writeFileSync(join(dir, "evil"), "evil");
    execFileSync("tar", ["--create", `--file=${join(dir, "evil.tar")}`, `--directory=${dir}`, "evil"]);
    await crane(
      "append",
      "--platform=linux/amd64",
      "--base",
      `${image}:${TAG}`,
      "--new_tag",
      `${image}:${TAG}`,
      "--new_layer",
      join(dir, "evil.tar"),
    );
    const verify = (words: string) => shell(`cosign ${words}`, {}, "out");
    expect(verify(`verify ${image}@${digest}`).status).toBe(0);
    expect(verify(`verify ${image}:${TAG}`)).toMatchObject({ stderr: expect.stringContaining("no signatures found") });
    expect(verify(`verify-attestation --type vuln ${image}@${digest}`).status).not.toBe(0);
    writeFileSync(join(dir, "work/out/SHA256SUMS"), "changed", { flag: "a" });
    expect(verify("verify-blob --bundle SHA256SUMS.sigstore.json SHA256SUMS").stderr).toContain("invalid signature");
    cpSync(join(dir, "other.pub"), join(dir, "cosign.pub"));
    expect(verify(`verify ${image}@${digest}`).status).not.toBe(0);
  }

  /** Lays out what the publishing job downloads, and programs that replace its identity by a key. */
  function prepare(): void {
    for (const folder of ["work/out", "bin"]) mkdirSync(join(dir, folder), { recursive: true });
    for (const folder of ["controller/deploy/chart", "controller/deploy/manifests"])
      cpSync(folder, join(dir, "work", folder), { recursive: true });
    cpSync(join(dir, "image"), join(dir, "work/image"), { recursive: true });
    writeFileSync(join(dir, "work/out/lotse.tgz"), "archive");
    const real = (name: string) => execFileSync("which", [name], { env: { PATH: path }, encoding: "utf8" }).trim();
    const [cosign, helm] = [real("cosign"), real("helm")];
    for (const name of ["cosign", "other"])
      execFileSync(cosign, ["generate-key-pair", `--output-key-prefix=${join(dir, name)}`], {
        env: { COSIGN_PASSWORD: "" },
        stdio: "pipe",
      });
    const programs = {
      cosign: COSIGN.replaceAll("REAL", cosign).replaceAll("DIR", dir),
      helm: HELM.replaceAll("REAL", helm),
    };
    for (const [name, text] of Object.entries(programs)) writeFileSync(join(dir, "bin", name), text, { mode: 0o755 });
  }
});

/** Signs with a key instead of an identity, and without the public log; keeps the identities that verification expects. */
const COSIGN = `#!/bin/bash
export COSIGN_PASSWORD=
command=$1 args=() && shift
while [ $# -gt 0 ]; do
  case $1 in
    --certificate-*) echo "$2" >> DIR/identities; shift 2 ;;
    *) args+=("$1"); shift ;;
  esac
done
case $command in
  verify*) exec REAL $command --key DIR/cosign.pub --insecure-ignore-tlog=true "\${args[@]}" ;;
  *) exec REAL $command --key DIR/cosign.key --tlog-upload=false --use-signing-config=false "\${args[@]}" ;;
esac
`;

/** The registry on loopback has no TLS. */
const HELM = `#!/bin/sh
case "$1 $*" in push*|*oci://*) exec REAL "$@" --plain-http ;; *) exec REAL "$@" ;; esac
`;
