import { existsSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { versions } from "../../../../controller/commands/version.ts";
import { loadTools } from "../../../../dev-env/toolchain/toolchain.ts";
import { NODE_FLAGS } from "../../../support/controller-process.ts";
import { copiesOf, environmentIn, parseDockerfile, parseDockerignore, textsOf } from "../../../support/dockerfile.ts";

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
    const outputs = [
      [pulumi, "../out/pulumi"],
      [plugin, `../out/plugins/resource-hcloud-v${plugin.version}/pulumi-resource-hcloud`],
    ] as const;
    const expected = outputs.map(([tool, output]) => {
      const args = tool.buildArgs.map((arg) => (arg.startsWith("-s ") ? `"${arg}"` : arg));
      return ["go", "-C", tool.module, ...args.slice(0, -1), "-o", output, ...args.slice(-1)].join(" ");
    });
    expect(textsOf(stage("engine"), "RUN")).toEqual(expected);
    expect(environmentIn(stage("engine"), {})).toMatchObject({ CGO_ENABLED: "0", GOFLAGS: "-mod=readonly" });
  });

  it("has a Go version that can build them, and the Node version of the tests", () => {
    const { pulumi, "pulumi-resource-hcloud": plugin } = loadTools("any");
    const go = /golang:([\d.]+)-/.exec(stage("engine").base)?.[1] ?? "0";
    for (const { goVersion } of [pulumi, plugin]) {
      expect(go.localeCompare(goVersion, "en", { numeric: true })).toBeGreaterThanOrEqual(0);
    }
    expect(stage("packages").base).toBe(`node:${packageJson.devDependencies.node}-bookworm-slim`);
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

  it("installs no development packages and runs no install scripts", () => {
    expect(textsOf(stage("packages"), "RUN").find((text) => text.startsWith("npm "))).toMatch(
      /^npm install --omit=dev --ignore-scripts /,
    );
  });

  it("ends in an image without a shell, with the user and the ports of the chart", () => {
    const final = stage("final");
    const values = parse(read("controller/deploy/chart/values.yaml"));
    expect(final.base).toMatch(/^gcr\.io\/distroless\/.*:nonroot$/);
    expect(textsOf(final, "RUN")).toEqual([]);
    const { runAsUser, runAsGroup } = values.podSecurityContext;
    expect(textsOf(final, "USER")).toEqual([`${runAsUser}:${runAsGroup}`]);
    expect(textsOf(final, "EXPOSE")).toEqual(["8233 10258"]);
    expect(JSON.parse(textsOf(final, "ENTRYPOINT")[0] ?? "[]").slice(0, 2)).toEqual(["/usr/local/bin/tini", "--"]);
  });

  it("has a compile cache for the user that it runs as", () => {
    const [user] = textsOf(stage("final"), "USER")[0]?.split(":") ?? [];
    expect(textsOf(stage("packages"), "RUN").at(-1)).toContain(`-${user};`);
    const { NODE_COMPILE_CACHE: folder } = environmentIn(stage("packages"), {});
    expect(environmentIn(stage("final"), {}).NODE_COMPILE_CACHE).toBe(`/app/${folder}`);
    expect(copiesOf(stage("final")).map(({ sources }) => sources)).toContainEqual([`/app/${folder}`]);
  });

  it("contains version and commit, both from build arguments", () => {
    const env = environmentIn(stage("final"), { LOTSE_COMMIT: "abc", LOTSE_VERSION: "v9.9.9" });
    expect(versions(env)).toMatchObject({ lotse: "v9.9.9", commit: "abc" });
    const named = textsOf(stage("final"), "ARG").map((text) => text.split("=")[0]);
    expect(named).toEqual(["LOTSE_VERSION", "LOTSE_COMMIT"]);
    expect(versions(environmentIn(stage("final"), { LOTSE_COMMIT: "unknown" }))).toMatchObject({
      lotse: packageJson.version,
      commit: "unknown",
    });
  });

  it("starts the program without core dumps and debuggers", () => {
    expect(JSON.parse(textsOf(stage("final"), "ENTRYPOINT")[0] ?? "[]").slice(2)).toEqual([
      "/usr/local/bin/launch",
      "/usr/local/bin/node",
      "--disable-sigusr1",
      ...NODE_FLAGS,
      "/app/controller/main.ts",
    ]);
  });
});
