import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { once } from "node:events";
import { readdir, readFile } from "node:fs/promises";
import type { RequestListener, ServerResponse } from "node:http";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { commonTools } from "../../../../dev-env/toolchain/tools.ts";
import { FakeMachine, toolNamed } from "./fake-machine.ts";
import { ReleaseSite } from "./release-site.ts";

const envtest = toolNamed("etcd").archive?.file ?? "";
let machine: FakeMachine;
let site: ReleaseSite;
beforeEach(async () => {
  machine = await FakeMachine.create();
  site = new ReleaseSite();
  machine.tools = await site.publish(machine.tools, machine.dir);
  machine.site = { ...machine.site, url: await site.start() };
});
afterEach(async () => {
  site.stop();
  await machine.remove();
});

/** Sends the beginning of an archive and leaves the connection open. */
function sendHalf(response: ServerResponse, onSent = () => {}): void {
  response.writeHead(200, { "content-length": 1000 }).write("half", onSent);
}

const stored = () => readdir(join(machine.root, "store")).catch(() => []);

it("downloads tools that have an archive and builds the others", async () => {
  const { binDir, pulumiHome, events } = await machine.provide(...commonTools);
  expect(events).toEqual([
    "downloading pulumi 3.259.0",
    "downloaded pulumi 3.259.0",
    "downloading pulumi-resource-hcloud 1.41.0",
    "downloaded pulumi-resource-hcloud 1.41.0",
    "downloading envtest 1.36.2",
    "downloaded envtest 1.36.2",
    "building helm 4.2.4",
    "built helm 4.2.4",
  ]);
  for (const name of ["pulumi", "pulumi-language-nodejs", "etcd", "kube-apiserver", "kubectl"] as const)
    expect(await readFile(join(binDir, name), "utf8")).toBe(`downloaded ${name}`);
  const plugin = join(pulumiHome, "plugins", "resource-hcloud-v1.41.0", "pulumi-resource-hcloud");
  expect(await readFile(plugin, "utf8")).toBe("downloaded pulumi-resource-hcloud");
  expect(await readdir(binDir)).not.toContain("README.md");
});

it("downloads an archive once, whichever of its tools is needed first", async () => {
  await machine.provide("kubectl");
  await machine.provide("etcd", "kube-apiserver");
  expect(site.requests).toHaveLength(1);
  expect(machine.builds).toEqual([]);
});

it("builds an API server of another version", async () => {
  const other = { ...toolNamed("kube-apiserver"), archive: undefined };
  machine.tools = { ...machine.tools, "kube-apiserver": other };
  await machine.provide("etcd", "kube-apiserver");
  expect(machine.builds).toEqual(["kube-apiserver"]);
});

describe("falls back to building, and reports the reason, if an archive", () => {
  const cases: readonly (readonly [string, RequestListener, string])[] = [
    ["does not exist", (_, response) => response.writeHead(404).end(), "status 404"],
    ["has another digest", (_, response) => response.end("forged"), "does not match the expected"],
    ["stalls half-way", (_, response) => sendHalf(response), "no data for 0.2 s"],
    ["is cut off half-way", (_, response) => sendHalf(response, () => response.destroy()), `${envtest}: `],
  ];
  it.each(cases)("%s", async (_, answer, reason) => {
    site.overrides.set(envtest, answer);
    const { reasons, binDir } = await machine.provide("etcd", "pulumi");
    expect(reasons).toEqual([expect.stringContaining(reason)]);
    expect(reasons[0]).toContain(envtest);
    expect(await readFile(join(binDir, "etcd"), "utf8")).toBe("built etcd");
    expect(await readFile(join(binDir, "pulumi"), "utf8")).toBe("downloaded pulumi");
    expect((await stored()).filter((name) => name.startsWith("envtest"))).toEqual([]);
  });

  const digest = createHash("sha256").update("no archive").digest("hex");
  it.each([
    { has: "no known digest", change: { digest: undefined }, reason: "no digest is pinned or published" },
    { has: "other contents", change: { tools: ["etcd", "helm"] as const }, reason: "does not contain helm" },
    { has: "another format", change: { file: "no-archive", digest }, reason: "could not be unpacked" },
  ])("has $has", async ({ change, reason }) => {
    site.overrides.set("no-archive", (_, response) => response.end("no archive"));
    const { archive } = machine.tools.etcd;
    if (!archive) throw new Error("etcd has an archive");
    machine.tools = { ...machine.tools, etcd: { ...machine.tools.etcd, archive: { ...archive, ...change } } };
    const { reasons } = await machine.provide("etcd");
    expect(reasons).toEqual([expect.stringContaining(reason)]);
    expect(machine.builds).toEqual(["etcd"]);
  });
});

describe("an unreachable site is tried once", () => {
  it("if it refuses connections", async () => {
    site.stop();
    const { reasons } = await machine.provide("pulumi", "etcd");
    expect(reasons).toEqual([expect.stringContaining("ECONNREFUSED")]);
    expect(machine.builds).toEqual(["pulumi", "etcd"]);
  });

  it("if it never responds", async () => {
    for (const { archive } of Object.values(machine.tools)) site.overrides.set(archive?.file ?? "", () => {});
    const { reasons } = await machine.provide("pulumi", "etcd");
    expect(reasons).toEqual([expect.stringContaining("no data for 0.2 s")]);
    expect(site.requests).toHaveLength(1);
  });
});

it("discards what a killed process left behind", async () => {
  const asked = new Promise<void>((resolve) => {
    site.overrides.set(toolNamed("pulumi").archive?.file ?? "", (_, response) => sendHalf(response, resolve));
  });
  const env = { ...process.env, ...machine.env, LOTSE_DOWNLOADS: machine.site.url };
  const child = spawn(process.execPath, ["dev-env/toolchain/main.ts"], { env, stdio: "ignore" });
  await asked;
  child.kill("SIGKILL");
  await once(child, "exit");
  expect(await stored()).toEqual([]);
  site.overrides.clear();
  const { binDir } = await machine.provide("etcd");
  expect(await readFile(join(binDir, "etcd"), "utf8")).toBe("downloaded etcd");
  expect(await readdir(machine.root)).not.toContain("tmp");
});
