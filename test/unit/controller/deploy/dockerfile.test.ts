import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { versions } from "../../../../controller/commands/version.ts";
import { programVersion } from "../../../../controller/diagnostics/version.ts";
import {
  copiesOf,
  pairsIn,
  parseDockerfile,
  parseDockerignore,
  textsOf,
} from "../../../../dev-env/image/dockerfile.ts";
import { loadTools } from "../../../../dev-env/toolchain/toolchain.ts";
import { NODE_FLAGS } from "../../../support/controller-process.ts";

const read = (path: string) => readFileSync(path, "utf8");
const stages = parseDockerfile(read("controller/deploy/Dockerfile"));
const stage = (name: string) => {
  const found = stages.find((it) => it.name === name);
  if (!found) throw new Error(`no stage ${name}`);
  return found;
};
const isIgnored = parseDockerignore(read(".dockerignore"));
const packageJson = JSON.parse(read("package.json"));

describe("the Dockerfile", () => {
  it("builds engine and plugin like the toolchain, from the same pins, into the paths that the program uses", () => {
    const { pulumi, "pulumi-resource-hcloud": plugin } = loadTools("any");
    const build = (tool: typeof plugin, output: string) => {
      const args = tool.buildArgs.map((arg) => (arg.startsWith("-s ") ? `"${arg}"` : arg));
      return `${args.slice(0, -1).join(" ")} -o ${output} ${args.at(-1)}`;
    };
    const folder = `out/plugins/resource-hcloud-v${plugin.version}`;
    expect(textsOf(stage("engine"), "RUN")).toEqual([
      `go -C ${pulumi.module} ${build(pulumi, "../out/pulumi")}`,
      `sh plugin.sh ${plugin.version} ${plugin.module} ${folder}`,
    ]);
    expect(read("controller/deploy/plugin.sh")).toContain(`go -C "$sources" ${build(plugin, '"$output"')}\n`);
    expect(pairsIn(stage("engine"), "ENV")).toMatchObject({ CGO_ENABLED: "0", GOFLAGS: "-mod=readonly" });
  });

  it("has a Go version that can build them, and the Node version of the tests", () => {
    const { pulumi, "pulumi-resource-hcloud": plugin } = loadTools("any");
    const go = /golang:([\d.]+)-/.exec(stage("engine").base)?.[1] ?? "0";
    for (const { goVersion } of [pulumi, plugin]) {
      expect(go.localeCompare(goVersion, "en", { numeric: true })).toBeGreaterThanOrEqual(0);
    }
    expect(stage("packages").base.split("@")[0]).toBe(`node:${packageJson.devDependencies.node}-bookworm-slim`);
  });

  it("copies only files that exist and are not in .dockerignore", () => {
    const sources = stages.flatMap(copiesOf).flatMap(({ from, sources: paths }) => (from ? [] : paths));
    expect(sources.length).toBeGreaterThan(5);
    for (const source of sources)
      expect([source, existsSync(source), isIgnored(source)]).toEqual([source, true, false]);
  });

  it.each([
    ".git/config",
    "node_modules/yaml/package.json",
    "test/run.ts",
    "dev-env/demo/main.ts",
    ".env",
    "controller/deploy/Dockerfile",
  ])("leaves %s out", (path) => expect(isIgnored(path)).toBe(true));

  it("compiles the sources with the compiler of the lock file, outside the packages that it ships", () => {
    const [install = "", compile] = textsOf(stage("build"), "RUN");
    expect(install).toContain("npm pkg get devDependencies.typescript");
    expect(install).toMatch(/ && npm ci --ignore-scripts /);
    expect(compile).toBe("npm run --silent build");
    expect(stage("build").base).toBe(stage("packages").base);
    const shipped = copiesOf(stage("final")).filter(({ from }) => from === "build");
    expect(shipped).toEqual([{ from: "build", sources: ["/src/dist"], target: "." }]);
  });

  it("installs no development packages and runs no install scripts", () => {
    expect(textsOf(stage("packages"), "RUN").find((text) => text.startsWith("npm "))).toMatch(
      /^npm pkg delete devDependencies && npm ci --omit=dev --ignore-scripts /,
    );
  });

  it("names every base image in one place, with its digest, and every Debian package with its version", () => {
    const args = [...read("controller/deploy/Dockerfile").matchAll(/^ARG \w+_IMAGE=(.+)$/gm)].map(([, image]) => image);
    expect(new Set(stages.map(({ base }) => base))).toEqual(new Set(args));
    for (const image of args) expect(image).toMatch(/@sha256:[0-9a-f]{64}$/);
    const installed = stages.flatMap((it) => textsOf(it, "RUN")).filter((text) => text.includes("apt-get install"));
    const packages = installed.flatMap((text) => text.split(" install ")[1]?.split(" ") ?? []);
    for (const name of packages.filter((word) => !word.startsWith("--"))) expect(name).toMatch(/^"[\w-]+=\d[^"]*"$/);
  });

  it("ends in an image without a shell, with the user and the ports of the chart", () => {
    const final = stage("final");
    const values = parse(read("controller/deploy/chart/values.yaml"));
    expect(final.base).toMatch(/^gcr\.io\/distroless\/[^@]*:nonroot(@|$)/);
    expect(textsOf(final, "RUN")).toEqual([]);
    const { runAsUser, runAsGroup } = values.podSecurityContext;
    expect(textsOf(final, "USER")).toEqual([`${runAsUser}:${runAsGroup}`]);
    expect(textsOf(final, "EXPOSE")).toEqual(["8233 10258"]);
    expect(JSON.parse(textsOf(final, "ENTRYPOINT")[0] ?? "[]").slice(0, 2)).toEqual(["/usr/local/bin/tini", "--"]);
  });

  it("contains version and commit, both from build arguments", () => {
    const env = pairsIn(stage("final"), "ENV", { LOTSE_COMMIT: "abc", LOTSE_VERSION: "v9.9.9" });
    expect(versions(env)).toMatchObject({ lotse: "9.9.9", commit: "abc" });
    const named = textsOf(stage("final"), "ARG").map((text) => text.split("=")[0]);
    expect(named).toEqual(["LOTSE_VERSION", "LOTSE_COMMIT"]);
    expect(versions(pairsIn(stage("final"), "ENV", { LOTSE_COMMIT: "unknown" }))).toMatchObject({
      lotse: programVersion({}),
      commit: "unknown",
    });
  });

  it("starts the program without core dumps and debuggers", () => {
    expect(JSON.parse(textsOf(stage("final"), "ENTRYPOINT")[0] ?? "[]").slice(2)).toEqual([
      "/usr/local/bin/launch",
      "/usr/local/bin/node",
      "--disable-sigusr1",
      ...NODE_FLAGS,
      "/app/controller/main.js",
    ]);
  });
});
