import { mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { secretFile } from "../../../../controller/net/secret-file.ts";
import { aLog } from "../../../support/log.ts";

let dir: string;
let file: string;
beforeEach(() => {
  dir = mkdtempSync(join(tmpdir(), "lotse-secret-"));
  file = join(dir, "token");
  writeFileSync(file, "first\n");
});
afterEach(() => rmSync(dir, { recursive: true }));

describe("a secret in a file", () => {
  it("is the trimmed contents of the file, and follows its changes", () => {
    const { log, lines } = aLog();
    const secret = secretFile(file, "first", log);
    expect(secret()).toBe("first");
    writeFileSync(file, " the second \n");
    expect(secret()).toBe("the second");
    expect(lines).toEqual([{ level: "info", file, msg: "secret replaced" }]);
  });

  it("follows a mounted Secret, whose directory is a swapped symlink", () => {
    for (const version of ["one", "two"]) {
      rmSync(join(dir, version), { recursive: true, force: true });
      writeFileSync(join(dir, `${version}.txt`), version);
    }
    const mounted = join(dir, "mounted");
    symlinkSync("one.txt", mounted);
    const secret = secretFile(mounted, "one", aLog().log);
    expect(secret()).toBe("one");
    symlinkSync("two.txt", join(dir, "next"));
    renameSync(join(dir, "next"), mounted);
    expect(secret()).toBe("two");
  });

  it("keeps its value while the file is missing or empty, which is logged once", () => {
    const { log, lines } = aLog();
    const secret = secretFile(file, "first", log);
    rmSync(file);
    expect([secret(), secret()]).toEqual(["first", "first"]);
    expect(lines).toHaveLength(1);
    expect(lines[0]).toMatchObject({ level: "warn", file, error: expect.stringContaining("ENOENT") });
    writeFileSync(file, "");
    expect(secret()).toBe("first");
    writeFileSync(file, "back");
    expect(secret()).toBe("back");
  });

  it("is never logged", () => {
    const { log, lines } = aLog();
    const secret = secretFile(file, "first", log);
    writeFileSync(file, "s3cret");
    secret();
    expect(JSON.stringify(lines)).not.toMatch(/first|s3cret/);
  });
});
