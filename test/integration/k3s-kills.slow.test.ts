import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { built, type DevEnv, NOTHING, startDevEnv } from "../support/dev-env.ts";
import { eventually } from "../support/eventually.ts";
import { descendantsOf } from "../support/process-tree.ts";

const PROGRAM = fileURLToPath(new URL("../support/dev-env-up.ts", import.meta.url));
const SETTINGS = { controlPlanes: "3", workers: "0" };
const BUILT = built(3, { loadBalancers: 1 });

/**
 * Runs an operation in a process, and kills it at its nth write, with its children or alone. Returns whether it came to
 * that.
 */
async function killAt(env: DevEnv, operation: "up" | "down", write: number, isAlone = false): Promise<boolean> {
  const last = env.cloud.journal.writes.length + write;
  const args = [PROGRAM, operation, env.cloud.url, env.cloud.token, env.directory, JSON.stringify(SETTINGS)];
  const child = spawn(process.execPath, args, { stdio: "ignore" });
  const exit = once(child, "exit");
  const isOver = () => child.exitCode !== null || env.cloud.journal.writes.length >= last;
  await eventually(() => expect(isOver()).toBe(true), { timeoutMs: 120_000, intervalMs: 1 });
  const isKilled = child.exitCode === null;
  const children = isAlone ? [] : descendantsOf(child.pid ?? 0).map(({ pid }) => pid);
  const tree = child.pid === undefined ? [] : [child.pid, ...children];
  for (const pid of isKilled ? tree : []) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      // It has exited meanwhile.
    }
  }
  await exit;
  return isKilled;
}

/** What the cloud has, in enough detail to notice anything that is half-made or doubled. */
function summary(env: DevEnv) {
  const servers = env.cloud.state.servers
    .values()
    .map(({ name, status, private_net }) => `${name} ${status} ${private_net[0]?.ip}`);
  const { services = [], targets = [] } = env.cloud.state.loadBalancers.find("dev-api") ?? {};
  return { counts: env.counts(), servers: servers.toSorted(), listeners: services.length, targets: targets.length };
}

const LONG = { timeout: 3_600_000 };

// In two halves at once: this is by far the longest test, and others would have to wait for it at the end.
test.concurrent.for([1, 2])(
  "up and down, killed at every second write from %i on, are continued",
  LONG,
  async (first) => {
    for (let write = first, isGoing = true; isGoing; write += 2) {
      await using env = await startDevEnv({ actionMs: 50 });
      const other = env.cloud.addNetwork({ name: "other" });
      const isUpKilled = await killAt(env, "up", write);
      await env.up(SETTINGS);
      const servers = [1, 2, 3].map((index) => `dev-control-plane-${index} running 10.0.0.${30 + index}`);
      const expected = { counts: { ...BUILT, networks: 2 }, servers, listeners: 1, targets: 3 };
      expect(summary(env), `up killed at write ${write}`).toEqual(expected);

      const isDownKilled = await killAt(env, "down", write);
      await env.down();
      expect(env.counts(), `down killed at write ${write}`).toEqual({ ...NOTHING, networks: 1 });
      expect(env.cloud.state.networks.get(other.id)).toBeDefined();
      isGoing = isUpKilled || isDownKilled;
      if (!isGoing) expect(write).toBeGreaterThan(15);
    }
  },
);

test("a command whose pulumi outlives it is continued by the next one", { timeout: 300_000 }, async () => {
  await using env = await startDevEnv({ actionMs: 200 });
  expect(await killAt(env, "up", 8, true)).toBe(true);
  await env.up(SETTINGS);
  expect(env.counts()).toEqual(BUILT);
  expect(await killAt(env, "down", 3, true)).toBe(true);
  await env.down();
  expect(env.counts()).toEqual(NOTHING);
});
