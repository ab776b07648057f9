import { spawnSync } from "node:child_process";
import { mkdir, mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { hostname, tmpdir } from "node:os";
import { basename, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { makeScratch } from "../../../../controller/app/scratch.ts";

let parent: string;
beforeEach(async () => {
  parent = await mkdtemp(join(tmpdir(), "lotse-test-"));
});
afterEach(() => rm(parent, { recursive: true, force: true }));

/** The number of a process that has ended. */
const ended = () => spawnSync(process.execPath, ["--version"]).pid;
const leave = async (name: string) => {
  await mkdir(join(parent, name, "state"), { recursive: true });
  await writeFile(join(parent, name, "state", "file"), "");
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
});
