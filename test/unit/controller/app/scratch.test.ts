import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, chown, mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeScratch } from "../../../../controller/app/scratch.ts";

let parent: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "lotse-test-"));
});
const after: (() => void)[] = [];
afterEach(async () => {
  for (const end of after.splice(0)) end();
  await rm(parent, { recursive: true, force: true });
});

const DEAD = spawnSync(process.execPath, ["--version"]).pid;
const name = () => `lotse-${hostname()}-${DEAD}-abcdef`;
const left = async (folder = name()) => {
  await leave(folder);
  return join(parent, folder);
};

/** The number of a process that has ended. */
const ended = () => spawnSync(process.execPath, ["--version"]).pid;
const leave = async (name: string, mode = 0o700) => {
  await mkdir(join(parent, name), { mode });
  await mkdir(join(parent, name, "state"));
  await writeFile(join(parent, name, "state", "file"), "");
};
/** Starts a process that looks like a plugin in a folder, and returns whether it is killed. */
const plugin = (folder: string, path = "home/plugins/hcloud") => {
  const child = spawn("sleep", ["600"], { argv0: join(parent, folder, path), stdio: "ignore" });
  after.push(() => child.kill());
  const killed = once(child, "exit").then(() => "killed");
  return () => Promise.race([killed, delay(200, "alive")]);
};

describe("the scratch folder of a process", () => {
  it("is new, and named after the process", async () => {
    const folder = await makeScratch(parent);
    expect(await readdir(folder)).toEqual([]);
    expect(basename(folder)).toMatch(new RegExp(`^lotse-${hostname()}-${process.pid}-\\w{6}$`));
  });

  it("is not removed when the same process creates another", async () => {
    const folders = [await makeScratch(parent), await makeScratch(parent)];
    expect((await readdir(parent)).toSorted()).toEqual(folders.map((folder) => basename(folder)).toSorted());
  });

  it.each([
    ["has ended", ended],
    ["had our process ID before us", () => process.pid],
  ])("replaces the folders of a process that %s", async (_, pid) => {
    await leave(`lotse-${hostname()}-${pid()}-abcdef`);
    const folder = await makeScratch(parent);
    expect(await readdir(parent)).toEqual([basename(folder)]);
  });

  it.each([
    ["a running process", () => `lotse-${hostname()}-${process.ppid}-abcdef`],
    ["another host", () => `lotse-another-host-${ended()}-abcdef`],
    ["another program", () => `lotse-${hostname()}-backup`],
    ["a similar name", () => `lotse-${hostname()}-${ended()}-abcdef-kept`],
  ])("leaves the folders of %s alone", async (_, name) => {
    const theirs = name();
    await leave(theirs);
    await makeScratch(parent);
    expect(await readdir(parent)).toContain(theirs);
  });

  const isRoot = process.getuid?.() === 0;
  const PLANTED: readonly (readonly [string, string, () => Promise<void>])[] = [
    ["that we created", "killed", async () => leave(name())],
    ["that others may enter", "alive", async () => leave(name(), 0o755)],
    ["that others may write to", "alive", async () => chmod(await left(), 0o777)],
    ["that is a symbolic link", "alive", async () => symlink(await left("elsewhere"), join(parent, name()))],
    ["of another user", "alive", async () => chown(await left(), 65_534, 65_534)],
  ];
  it.each(PLANTED.slice(0, isRoot ? 5 : 4))("of a folder %s, plugins are %s", async (kind, fate, plant) => {
    await plant();
    const look = plugin(name());
    const other = plugin(name(), "home/plugins-of-others");
    await delay(50); // until the process has its name
    await makeScratch(parent);
    expect(await look()).toBe(fate);
    expect(await other()).toBe("alive");
    expect((await readdir(parent)).includes(name())).toBe(fate === "alive");
    expect(existsSync(join(parent, "elsewhere"))).toBe(kind === "that is a symbolic link");
  });
});
