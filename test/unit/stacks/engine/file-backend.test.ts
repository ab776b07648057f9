import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, it } from "vitest";
import { createStack, repairBackend } from "../../../../stacks/engine/file-backend.ts";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "lotse-backend-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

it("removes stale locks and files that were being written, and keeps states", async () => {
  const stacks = join(directory, ".pulumi", "stacks", "project");
  const locks = join(directory, ".pulumi", "locks", "organization", "project", "dev");
  for (const folder of [stacks, locks]) await mkdir(folder, { recursive: true });
  await writeFile(join(locks, "lock.json"), "{}");
  const names = ["dev.json", "dev.json.bak", "dev.json.attrs", "dev.json.bak.attrs", "dev.json.18e8e1dd9c3f9c70.tmp"];
  for (const name of names) await writeFile(join(stacks, name), "");
  await repairBackend(directory);
  expect(await readdir(join(directory, ".pulumi"))).toEqual(["stacks"]);
  expect((await readdir(stacks)).toSorted()).toEqual(["dev.json", "dev.json.bak"]);
});

it("leaves everything alone while a plain pulumi of this machine works", async () => {
  await using ends = new AsyncDisposableStack();
  const stacks = join(directory, ".pulumi", "stacks", "project");
  const locks = join(directory, ".pulumi", "locks", "organization", "project", "dev");
  for (const folder of [stacks, locks]) await mkdir(folder, { recursive: true });
  const pulumi = spawn("sleep", ["60"], { argv0: "/usr/local/bin/pulumi" });
  ends.defer(() => void pulumi.kill());
  await once(pulumi, "spawn");
  await writeFile(join(locks, "lock.json"), JSON.stringify({ pid: pulumi.pid, username: "dev" }));
  await writeFile(join(stacks, "dev.json.18e8e1dd9c3f9c70.tmp"), "");
  await repairBackend(directory);
  expect(await readdir(locks)).toEqual(["lock.json"]);
  expect(await readdir(stacks)).toEqual(["dev.json.18e8e1dd9c3f9c70.tmp"]);
});

it("accepts a backend that does not exist yet", async () => {
  await repairBackend(join(directory, "absent"));
});

it("creates an empty stack of the project, and leaves an existing one alone", async () => {
  await writeFile(join(directory, "Pulumi.yaml"), "# A project.\nname: project\nmain: program.ts\n");
  const file = join(directory, ".pulumi", "stacks", "project", "dev.json");
  await createStack(directory, directory, "dev");
  expect(JSON.parse(await readFile(file, "utf8"))).toMatchObject({ checkpoint: { stack: "organization/project/dev" } });
  await writeFile(file, "kept");
  await createStack(directory, directory, "dev");
  expect(await readFile(file, "utf8")).toBe("kept");
});
