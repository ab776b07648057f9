import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { toolNames } from "../../../../dev-env/toolchain/tools.ts";
import { FakeMachine, toolNamed } from "./fake-machine.ts";

let machine: FakeMachine;
beforeEach(async () => {
  machine = await FakeMachine.create();
});
afterEach(() => machine.remove());

describe("the cache", () => {
  it("starts no process and downloads nothing if everything exists", async () => {
    await machine.provide(...toolNames);
    machine.builds.length = 0;
    const { events } = await machine.provide(...toolNames);
    expect(machine.builds).toEqual([]);
    expect(events).toEqual([]);
  });

  it("links tools that were built for another set of pins", async () => {
    await machine.provide("etcd");
    const helm = { ...toolNamed("helm"), storeName: "helm-of-another-version" };
    machine.tools = { ...machine.tools, helm };
    const { binDir, events } = await machine.provide("etcd");
    expect(events).toEqual([]);
    expect(await readFile(join(binDir, "etcd"), "utf8")).toBe("built etcd");
  });

  it("builds once for concurrent callers", async () => {
    const both = await Promise.all([machine.provide("etcd"), machine.provide("etcd")]);
    expect(machine.builds).toEqual(["etcd"]);
    expect(both.flatMap(({ events }) => events)).toContain("waiting");
  });

  it("leaves no unfinished files and releases the lock after a failure", async () => {
    machine.buildOutput = "x.go:1:1: syntax error";
    await expect(machine.provide("etcd")).rejects.toThrow("syntax error");
    expect(await readdir(machine.root)).toEqual(["lock"]);
    machine.buildOutput = undefined;
    expect((await machine.provide("etcd")).events).toContain(`built etcd ${toolNamed("etcd").version}`);
  });

  it("publishes the paths for programs that do not import this code", async () => {
    const { binDir, pulumiHome } = await machine.provide("pulumi", "pulumi-resource-hcloud");
    const index = JSON.parse(await readFile(join(machine.root, "toolchain.json"), "utf8"));
    expect(index).toEqual({ format: 1, binDir, pulumiHome });
    const { name, version } = toolNamed("pulumi-resource-hcloud");
    const plugin = join(pulumiHome, "plugins", `resource-hcloud-v${version}`, name);
    expect(await readFile(plugin, "utf8")).toBe(`built ${name}`);
    expect(await readdir(binDir)).toEqual(["pulumi"]);
  });
});

describe("if neither download nor build works", () => {
  it("names every missing tool, the reasons, and the remedy", async () => {
    machine.hasGo = false;
    const failure = machine.provide("pulumi", "etcd");
    await expect(failure).rejects.toMatchObject({ code: "no-way" });
    const message = await failure.catch((error: Error) => error.message);
    expect(message).toContain(`pulumi ${toolNamed("pulumi").version}\n`);
    expect(message).toContain(`etcd ${toolNamed("etcd").version}\n`);
    expect(message).toContain("connect ECONNREFUSED 127.0.0.1:2");
    expect(message).toContain("cannot run the go command: spawn go ENOENT");
    expect(message).toContain("install Go 1.26.6 or newer");
  });

  it("reports an unwritable cache", async () => {
    await writeFile(join(machine.dir, "file"), "");
    machine.env.XDG_CACHE_HOME = join(machine.dir, "file");
    await expect(machine.provide("etcd")).rejects.toMatchObject({
      code: "cache-unusable",
      message: expect.stringContaining("set XDG_CACHE_HOME to another folder"),
    });
  });
});
