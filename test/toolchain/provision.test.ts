import { readdir, readFile, readlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { toolNames } from "../../dev-env/toolchain/tools.ts";
import { FakeMachine, toolNamed } from "./fake-machine.ts";

let machine: FakeMachine;
beforeEach(async () => {
  machine = await FakeMachine.create();
});
afterEach(() => machine.remove());

describe("the order of ways", () => {
  it("takes a binary of the pinned version from PATH", async () => {
    const path = await machine.place("path", "etcd");
    const { binDir, events } = await machine.provide("etcd");
    expect(events).toEqual(["ready etcd (path)"]);
    expect(await readlink(join(binDir, "etcd"))).toBe(path);
  });

  it("builds what is on PATH in another version only", async () => {
    await machine.place("path", "etcd", "3.5.0");
    const { events } = await machine.provide("etcd");
    expect(events).toEqual(["building etcd", "ready etcd (build)"]);
  });

  it("downloads what Pulumi offers and builds the rest when online", async () => {
    machine.isOnline = true;
    const { events } = await machine.provide(...toolNames);
    expect(events).toEqual([
      "downloading pulumi",
      "ready pulumi (download)",
      "downloading pulumi-resource-hcloud",
      "ready pulumi-resource-hcloud (download)",
      "ready pulumi-language-nodejs (download)",
      "building etcd",
      "ready etcd (build)",
      "building kube-apiserver",
      "ready kube-apiserver (build)",
      "building kubectl",
      "ready kubectl (build)",
      "building helm",
      "ready helm (build)",
    ]);
  });

  it("falls through to building everything without a word about the download when offline", async () => {
    const { events } = await machine.provide("pulumi", "pulumi-language-nodejs");
    expect(events).toEqual([
      "building pulumi",
      "ready pulumi (build)",
      "building pulumi-language-nodejs",
      "ready pulumi-language-nodejs (build)",
    ]);
  });

  it("takes the language host from beside a CLI on PATH, but not from PATH alone", async () => {
    await machine.place("path", "pulumi-language-nodejs");
    expect((await machine.provide("pulumi-language-nodejs")).events).toContain("building pulumi-language-nodejs");
    await machine.place("path", "pulumi");
    const other = await FakeMachine.create();
    try {
      other.env.PATH = machine.env.PATH;
      const { events } = await other.provide("pulumi", "pulumi-language-nodejs");
      expect(events).toEqual(["ready pulumi (path)", "ready pulumi-language-nodejs (path)"]);
    } finally {
      await other.remove();
    }
  });

  it("takes a plugin that is installed in the user's Pulumi home", async () => {
    const { name, version } = toolNamed("pulumi-resource-hcloud");
    await machine.place(join(".pulumi", "plugins", `resource-hcloud-v${version}`), "pulumi-resource-hcloud");
    expect((await machine.provide("pulumi-resource-hcloud")).events).toEqual([`ready ${name} (path)`]);
  });
});

describe("KUBEBUILDER_ASSETS", () => {
  it("wins over PATH and cache, in any version, for the Kubernetes tools only", async () => {
    await machine.provide("kubectl", "pulumi");
    const assets = await machine.place("assets", "kubectl", "1.31.0");
    await machine.place("assets", "pulumi");
    machine.env.KUBEBUILDER_ASSETS = join(machine.dir, "assets");
    const { binDir, events } = await machine.provide("kubectl", "pulumi");
    expect(events).toEqual(["ready pulumi (cache)", "ready kubectl (assets)"]);
    expect(await readlink(join(binDir, "kubectl"))).toBe(assets);
  });

  it("does not change what others get who have not set it", async () => {
    await machine.place("assets", "etcd", "3.5.0");
    machine.env.KUBEBUILDER_ASSETS = join(machine.dir, "assets");
    await machine.provide("etcd");
    delete machine.env.KUBEBUILDER_ASSETS;
    expect((await machine.provide("etcd")).events).toEqual(["building etcd", "ready etcd (build)"]);
  });
});

describe("the cache", () => {
  it("starts no process when everything is there", async () => {
    await machine.provide(...toolNames);
    machine.commands.length = 0;
    const { events } = await machine.provide(...toolNames);
    expect(machine.commands).toEqual([]);
    expect(events).toEqual(toolNames.map((name) => `ready ${name} (cache)`));
  });

  it("uses stored binaries again when the index is lost", async () => {
    const { binDir } = await machine.provide("etcd");
    await writeFile(join(binDir, "..", "toolchain.json"), '{"format":1,"to');
    machine.commands.length = 0;
    expect((await machine.provide("etcd")).events).toEqual(["ready etcd (cache)"]);
    expect(machine.commands).toEqual(["probe etcd"]);
  });

  it("builds a corrupted binary again", async () => {
    const { binDir } = await machine.provide("etcd");
    await writeFile(join(binDir, "etcd"), "\u0000\u0000");
    expect((await machine.provide("etcd")).events).toEqual(["building etcd", "ready etcd (build)"]);
    expect(await readFile(join(binDir, "etcd"), "utf8")).toContain(toolNamed("etcd").version);
  });

  it("looks again when a binary on PATH has changed", async () => {
    await machine.place("path", "etcd");
    await machine.provide("etcd");
    await machine.place("path", "etcd", "3.99.0");
    expect((await machine.provide("etcd")).events).toEqual(["building etcd", "ready etcd (build)"]);
  });

  it("never takes its own links on PATH for a source", async () => {
    const { binDir } = await machine.provide("etcd");
    machine.env.PATH = binDir;
    await writeFile(join(binDir, "..", "toolchain.json"), "");
    await machine.provide("etcd");
    expect(await readFile(join(binDir, "etcd"), "utf8")).toContain(toolNamed("etcd").version);
  });

  it("lets concurrent callers wait for one build", async () => {
    const both = await Promise.all([machine.provide("etcd"), machine.provide("etcd")]);
    expect(machine.commands.filter((command) => command === "build etcd")).toHaveLength(1);
    expect(both.flatMap(({ events }) => events)).toContain("waiting etcd");
  });

  it("leaves nothing half-made behind, and the lock free, after a failure", async () => {
    machine.buildOutput = "x.go:1:1: syntax error";
    await expect(machine.provide("etcd")).rejects.toThrow("syntax error");
    expect(await readdir(join(machine.dir, "cache", "lotse"))).toEqual(["lock", "sets"]);
    machine.buildOutput = undefined;
    expect((await machine.provide("etcd")).events).toContain("ready etcd (build)");
  });

  it("publishes the index for programs that do not import this code", async () => {
    const { binDir } = await machine.provide("pulumi", "pulumi-resource-hcloud");
    const index = JSON.parse(await readFile(join(machine.dir, "cache", "lotse", "toolchain.json"), "utf8"));
    expect(index).toMatchObject({
      format: 1,
      binDir,
      pulumiHome: join(binDir, "..", "pulumi-home"),
      tools: { pulumi: { version: toolNamed("pulumi").version } },
    });
    const { name, version } = toolNamed("pulumi-resource-hcloud");
    const plugin = join(index.pulumiHome, "plugins", `resource-hcloud-v${version}`, name);
    expect(await readFile(plugin, "utf8")).toBe(`${version}\n`);
    expect(await readdir(binDir)).toEqual(["pulumi"]);
  });
});

describe("when neither way works", () => {
  it("names every missing tool, where it was looked for and what to do", async () => {
    machine.hasGo = false;
    const old = await machine.place("path", "etcd", "3.5.0");
    const { version: pulumi } = toolNamed("pulumi");
    const failure = machine.provide("pulumi", "etcd");
    await expect(failure).rejects.toMatchObject({ code: "no-way" });
    const message = await failure.catch((error: Error) => error.message);
    expect(message).toContain(`looked on PATH and in ${join(machine.dir, "cache", "lotse")}`);
    expect(message).toContain(`pulumi ${pulumi}\n`);
    expect(message).toContain("https://get.pulumi.com/install.sh cannot be fetched (getaddrinfo ENOTFOUND)");
    expect(message).toContain(`etcd ${toolNamed("etcd").version}\n`);
    expect(message).toContain(`${old} is version 3.5.0`);
    expect(message).toContain("the go command does not start (spawn go ENOENT)");
    expect(message).toContain("install Go 1.26.6 or newer");
    expect(message).toContain("KUBEBUILDER_ASSETS");
  });

  it("says so when the cache cannot be written", async () => {
    await writeFile(join(machine.dir, "file"), "");
    machine.env.XDG_CACHE_HOME = join(machine.dir, "file");
    await expect(machine.provide("etcd")).rejects.toMatchObject({
      code: "cache-unusable",
      message: expect.stringContaining("name another folder with XDG_CACHE_HOME"),
    });
  });
});
