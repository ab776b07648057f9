import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { isAbsolute, join, relative } from "node:path";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { down } from "../../../../dev-env/k3s/down.ts";
import { type Environment, Folder, printVariables } from "../../../../dev-env/k3s/environment.ts";
import { Screen } from "../../../../dev-env/terminal/screen.ts";

let directory: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), "lotse-environment-"));
});
afterEach(() => rm(directory, { recursive: true, force: true }));

function anEnvironment(name: string, variables: Environment["variables"]): Environment {
  const tools = { binDir: join(directory, "bin"), pulumiHome: join(directory, "pulumi-home"), paths: {} };
  const folder = new Folder(name, directory);
  const signal = new AbortController().signal;
  const api = { list: async () => [] };
  const screen = new Screen({ write: () => {} });
  return { name, folder, variables, tools, signal, api, screen } as unknown as Environment;
}

/** The variables of a shell that evaluates what `dev-env env` prints. */
async function evaluated(name: string, shell: Readonly<Record<string, string>>) {
  const lines: string[] = [];
  const write = vi.spyOn(process.stdout, "write").mockImplementation((text) => lines.push(String(text)) > 0);
  try {
    await printVariables(anEnvironment(name, shell));
  } finally {
    write.mockRestore();
  }
  const pairs = lines.map((line) => /^export (\w+)='(.*)'/.exec(line)?.slice(1) ?? []);
  return { ...shell, ...Object.fromEntries(pairs) } as Record<string, string>;
}

describe("the variables of an environment", () => {
  it("do not lead another environment in the same shell to its state", async () => {
    const shell = await evaluated("dev", {});
    expect(shell.PULUMI_BACKEND_URL).toBe(`file://${directory}/dev/backend`);
    expect((await evaluated("other", shell)).PULUMI_BACKEND_URL).toBe(`file://${directory}/other/backend`);
  });

  it("keep a backend of the user's", async () => {
    const shell = await evaluated("dev", { PULUMI_BACKEND_URL: "s3://states" });
    expect((await evaluated("other", shell)).PULUMI_BACKEND_URL).toBe("s3://states");
  });
});

describe("the folder of an environment", () => {
  it("is the same for programs in other folders, also if LOTSE_DEV_STATE is relative", () => {
    const { path } = new Folder("dev", relative(process.cwd(), directory));
    expect(isAbsolute(path)).toBe(true);
    expect(path).toBe(join(directory, "dev"));
  });
});

describe("down", () => {
  it("leaves no stack in a backend of the user's", async () => {
    const log = join(directory, "log");
    const exported = `case "$*" in *export*) echo '{"version":3,"deployment":{}}' ;; esac`;
    const program = `echo "$(basename "$PWD") $*" >> '${log}'\n${exported}`;
    await mkdir(join(directory, "bin"));
    await writeFile(join(directory, "bin", "pulumi"), `#!/bin/sh\n${program}\n`, { mode: 0o755 });
    await down(anEnvironment("dev", { PATH: process.env.PATH, PULUMI_BACKEND_URL: "s3://states" }), false);
    const removed = (await readFile(log, "utf8")).split("\n").filter((line) => line.includes("stack rm"));
    expect(removed.map((line) => line.split(" ")[0])).toEqual(["cluster", "k3s"]);
  });
});
