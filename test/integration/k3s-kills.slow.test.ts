import { spawn } from "node:child_process";
import { once } from "node:events";
import { rm } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { describe, expect, test } from "vitest";
import { built, type DevEnv, NOTHING, startDevEnv } from "../support/dev-env.ts";
import { eventually } from "../support/eventually.ts";

const PROGRAM = fileURLToPath(new URL("../support/dev-env-up.ts", import.meta.url));

/** Starts a run in a process of its own and kills it, and only it, as soon as the cloud looks as the test wants it. */
async function killOnce(env: DevEnv, operation: "up" | "down", isTime: () => boolean): Promise<void> {
  const args = [PROGRAM, operation, env.cloud.url, env.cloud.token, env.directory];
  const child = spawn(process.execPath, args, { stdio: "ignore" });
  const exit = once(child, "exit");
  await eventually(() => expect(isTime()).toBe(true), { timeoutMs: 60_000, intervalMs: 5 });
  child.kill("SIGKILL");
  const [, signal] = await exit;
  expect(signal).toBe("SIGKILL"); // it was still at work
}

describe("a development environment whose command is killed", { timeout: 300_000 }, () => {
  test("goes on after it was killed, while it was built and while it was removed", async () => {
    await using env = await startDevEnv({ actionMs: 400 });
    await killOnce(env, "up", () => env.cloud.state.servers.size >= 1);
    await env.up();
    expect(env.counts()).toEqual(built(3));
    expect(
      env.cloud.state.servers.values().map(({ status, private_net }) => `${status} ${private_net.length}`),
    ).toEqual(["running 1", "running 1", "running 1"]);
    const writes = env.cloud.journal.writes.length;
    await env.up();
    expect(env.cloud.journal.writes).toHaveLength(writes);

    await killOnce(env, "down", () => env.cloud.state.servers.size < 3);
    await env.down();
    expect(env.counts()).toEqual(NOTHING);
  });

  test("is removed when it was killed half-built, and when its state is lost; others' things stay", async () => {
    await using env = await startDevEnv({ actionMs: 200 });
    const other = env.cloud.addNetwork({ name: "other" });
    env.cloud.addServer({ name: "other", network: other.id });
    await killOnce(env, "up", () => env.cloud.state.networks.size === 2);
    await env.down();
    expect(env.counts()).toEqual({ ...NOTHING, servers: 1, networks: 1, primaryIps: 2 });

    await env.up({ workers: "1" });
    await rm(env.folder.cloud, { recursive: true });
    await env.down();
    expect(env.counts()).toEqual({ ...NOTHING, servers: 1, networks: 1, primaryIps: 2 });
  });
});
