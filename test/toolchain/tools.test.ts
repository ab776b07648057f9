import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { loadTools } from "../../dev-env/toolchain/toolchain.ts";
import { describeTools } from "../../dev-env/toolchain/tools.ts";
import { toolNamed } from "./fake-machine.ts";

describe("pins", () => {
  it("of the engine and the plugin equal those of the npm packages", async () => {
    const { dependencies } = JSON.parse(await readFile("package.json", "utf8"));
    expect(toolNamed("pulumi").version).toBe(dependencies["@pulumi/pulumi"]);
    expect(toolNamed("pulumi-resource-hcloud").version).toBe(dependencies["@pulumi/hcloud"]);
  });

  it("of the API server is stamped into it", () => {
    const { version, buildArgs } = toolNamed("kube-apiserver");
    expect(buildArgs.join(" ")).toContain(`-X k8s.io/component-base/version.gitVersion=v${version}`);
    expect(toolNamed("kubectl").version).toBe(version);
  });

  it("that cannot be read are named", () => {
    expect(() => describeTools(new Map(), "linux-x64")).toThrow("version of pulumi: go.mod");
  });
});

describe("keys", () => {
  it("differ between platforms and between tools of one module", async () => {
    const platforms = await Promise.all(["linux-x64", "linux-arm64"].map(loadTools));
    const keys = platforms.flatMap((tools) => Object.values(tools)).map((tool) => tool.key);
    expect(new Set(keys).size).toBe(keys.length);
  });
});
