import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { shellSettings, writeEnvFile } from "../../../../dev-env/demo/env-file.ts";

/** No process has this id: it is above every system's limit. */
const DEAD = 2 ** 30;

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "lotse-env-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe("shellSettings", () => {
  it("makes a launcher that does not depend on the Node in PATH", async () => {
    await shellSettings({}, { binDir: "/tools", pulumiHome: "/pulumi" }, folder);
    const output = execFileSync(join(folder, "bin", "lotse"), ["--help"], { encoding: "utf8", env: { PATH: "" } });
    expect(output).toContain("Usage: lotse");
  });
});

describe("writeEnvFile", () => {
  it("leaves the file of a running demo alone, and takes the next name (newcomer B16)", async () => {
    const files = [await writeEnvFile(folder, "first\n"), await writeEnvFile(folder, "second\n")];
    expect(files).toEqual([join(folder, "env"), join(folder, "env-2")]);
    expect(files.map((file) => readFileSync(file, "utf8").split("\n")[1])).toEqual(["first", "second"]);
  });

  it.each([
    ["a demo that was killed", () => writeEnvFile(folder, "old\n", DEAD)],
    ["an earlier version", async () => writeFileSync(join(folder, "env"), "export KUBECONFIG=old\n")],
  ])("replaces the file of %s", async (_, leave) => {
    await leave();
    expect(await writeEnvFile(folder, "new\n")).toBe(join(folder, "env"));
    expect(readFileSync(join(folder, "env"), "utf8")).toBe(`# process ${process.pid}\nnew\n`);
  });

  it("gives each of several simultaneous demos its own file", async () => {
    const files = await Promise.all(["a", "b", "c"].map((text) => writeEnvFile(folder, text)));
    expect(new Set(files).size).toBe(3);
    expect(readdirSync(folder).toSorted()).toEqual(["env", "env-2", "env-3"]);
  });
});
