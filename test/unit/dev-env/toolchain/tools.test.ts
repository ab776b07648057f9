import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { findDigest } from "../../../../dev-env/toolchain/archives.ts";
import { loadTools, nodeTools, otherApiServers } from "../../../../dev-env/toolchain/toolchain.ts";
import { commonTools, describeTools } from "../../../../dev-env/toolchain/tools.ts";
import { toolNamed } from "./fake-machine.ts";

const platforms = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];

describe("pins", () => {
  it("of engine and plugin equal the versions of the npm packages", async () => {
    const { dependencies } = JSON.parse(await readFile("package.json", "utf8"));
    expect(toolNamed("pulumi").version).toBe(dependencies["@pulumi/pulumi"]);
    expect(toolNamed("pulumi-resource-hcloud").version).toBe(dependencies["@pulumi/hcloud"]);
  });

  it("of the API server are stamped into the binary", () => {
    const { version, buildArgs } = toolNamed("kube-apiserver");
    expect(buildArgs.join(" ")).toContain(`-X k8s.io/component-base/version.gitVersion=v${version}`);
    expect(toolNamed("kubectl").version).toBe(version);
  });

  it.each(["kube-node", "e2e.test", "agnhost"] as const)("of %s equal those of the API server", (name) => {
    expect(toolNamed(name).version).toBe(toolNamed("kube-apiserver").version);
  });

  it.each(otherApiServers)("of the API server can be overridden with %s, without an archive", (version) => {
    const { "kube-apiserver": server, kubectl } = loadTools("linux-x64", version);
    expect(server.version).toMatch(`${version}.`);
    expect(server.archive).toBeUndefined();
    expect(kubectl).toEqual(toolNamed("kubectl"));
  });

  it("that cannot be parsed are named in the error", () => {
    expect(() => describeTools(() => ({}), "linux-x64")).toThrow("version of pulumi: go.mod");
  });
});

describe("archives", () => {
  it.each(platforms)("of the engine and of Kubernetes have a pinned digest for %s", (platform) => {
    const { pulumi, "kube-apiserver": server } = loadTools(platform);
    expect(pulumi.archive?.digest).toMatch(/^[0-9a-f]{64}$/);
    expect(server.archive?.digest).toMatch(/^[0-9a-f]{128}$/);
  });

  it("of Kubernetes have the pinned minor version", () => {
    const { version, archive } = toolNamed("kube-apiserver");
    expect(archive?.label).toMatch(`envtest ${version.replace(/\d+$/, "")}`);
  });

  it("are matched in a digest list by their whole name", () => {
    const list = "# note\naa  ./a.tar.gz.old\nbb  ./a.tar.gz\ncc *b.tar.gz\n";
    expect(["a.tar.gz", "b.tar.gz", "tar.gz"].map((file) => findDigest(list, file))).toEqual(["bb", "cc", undefined]);
  });
});

it("builds Kubernetes' own tests as go test does", () => {
  expect(toolNamed("e2e.test").buildArgs.slice(0, 2)).toEqual(["test", "-c"]);
  expect(toolNamed("agnhost").buildArgs[0]).toBe("build");
});

it("uses a different store folder for each platform and each tool of a module", () => {
  const names = platforms.flatMap((platform) => Object.values(loadTools(platform))).map((tool) => tool.storeName);
  expect(new Set(names).size).toBe(names.length);
});

it("keeps the tools of machines in modules of their own, so that they rebuild nothing else", () => {
  const tools = loadTools("linux-x64");
  const common = new Set(commonTools.map((name) => tools[name].module));
  expect(nodeTools.filter((name) => common.has(tools[name].module))).toEqual([]);
});
