import { mkdir, mkdtemp, readlink, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { prepareFolders } from "../../../../stacks/state/workspace.ts";

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "lotse-workspace-"));
});
afterEach(() => rm(directory, { recursive: true }));

const homeOf = (plugins: string) => ({ directory, plugins, pulumi: "pulumi", isScratch: false, stack: "test" });

it("the link to the plugins follows another engine", async () => {
  await prepareFolders(homeOf("/old"));
  await prepareFolders(homeOf("/new"));
  expect(await readlink(join(directory, "home", "plugins"))).toBe("/new");
});

it("a folder of plugins that is not ours is never removed, as below a --dir that was meant for something else", async () => {
  const own = join(directory, "home", "plugins", "mine");
  await mkdir(join(own, ".."), { recursive: true });
  await writeFile(own, "");
  await expect(prepareFolders(homeOf("/new"))).rejects.toThrow(join(directory, "home", "plugins"));
  await writeFile(own, "", { flag: "r+" });
});
