import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "../../../support/eventually.ts";
import { startServer, type TestServer } from "../../../support/http-server.ts";
import { descendantsOf, type ProcessInfo } from "../../../support/process-tree.ts";

const SOURCE = new URL("../../../../dev-env/terminal/controller.ts", import.meta.url);

let folder: string;
/** The APIs of both sides, which never answer, so that the controller keeps waiting. */
let silent: TestServer;
let owner: ChildProcess;
/** Processes of the controller. */
let own: readonly ProcessInfo[];

beforeEach(async () => {
  own = [];
  folder = await mkdtemp(join(tmpdir(), "lotse-terminal-"));
  silent = await startServer(() => {});
  const clusters = [{ name: "a", cluster: { server: silent.url } }];
  const contexts = [{ name: "a", context: { cluster: "a", user: "a" } }];
  const users = [{ name: "a", user: {} }];
  const kubeconfig = { "current-context": "a", contexts, clusters, users };
  await writeFile(join(folder, "kubeconfig"), JSON.stringify(kubeconfig));
});
afterEach(async () => {
  owner.kill("SIGKILL");
  for (const { pid } of running()) process.kill(pid, "SIGKILL");
  await silent.stop();
  await rm(folder, { recursive: true });
});

/** Starts a process that runs the controller, and `last` after its next input. */
async function startOwner(isWatched: boolean, last: string): Promise<void> {
  const program = `
    const { FLAGS_OUTSIDE, spawnController } = await import("${SOURCE}");
    const flags = [...FLAGS_OUTSIDE, "--kubeconfig", "${join(folder, "kubeconfig")}"];
    const controller = spawnController({ flags, env: process.env, isWatched: ${isWatched}, show: () => {} });
    process.stdin.once("data", async () => { ${last} });
    console.log("started");`;
  const { PATH, HOME } = process.env;
  owner = spawn(process.execPath, ["--input-type=module", "--eval", program], {
    stdio: ["pipe", "pipe", "ignore"],
    env: { PATH, HOME, TMPDIR: folder, HCLOUD_TOKEN: "x".repeat(64), HCLOUD_ENDPOINT: `${silent.url}/v1` },
  });
  await once(createInterface({ input: owner.stdout ?? process.stdin }), "line");
  await eventually(() => expect(silent.received).not.toEqual([]));
  own = descendantsOf(owner.pid ?? 0);
  expect(own.map(({ command }) => command).join("\n")).toContain("controller/main.ts run");
}

/** The controller's processes that have not ended. */
function running(): readonly ProcessInfo[] {
  const all = descendantsOf(0);
  return own.filter(({ pid, command }) => all.some((it) => it.pid === pid && it.command === command));
}

describe.each([
  ["the controller", false],
  ["a watched controller", true],
])("%s", (_, isWatched) => {
  it.each([
    ["is killed", "process.kill(process.pid, 'SIGKILL')"],
    ["crashes", "throw new Error('expected')"],
    ["ends it", "process.kill(-controller.pid, 'SIGKILL'); await controller.ended; process.stdin.destroy()"],
  ])("ends when its owner %s, and leaves no file", { timeout: 30_000 }, async (_, last) => {
    await startOwner(isWatched, last);
    owner.stdin?.write("\n");
    await once(owner, "exit");
    await eventually(
      async () => {
        expect(running()).toEqual([]);
        expect(await readdir(folder)).toEqual(["kubeconfig"]);
      },
      { timeoutMs: 5_000 },
    );
  });
});
