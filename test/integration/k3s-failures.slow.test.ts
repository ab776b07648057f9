import { mkdir, readFile, rm } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { explain } from "../../dev-env/k3s/errors.ts";
import { built, NOTHING, startDevEnv } from "../support/dev-env.ts";

/** The lines that a user reads when a command fails. */
async function failureOf(command: Promise<unknown>): Promise<readonly string[]> {
  return command.then(
    () => [],
    (error: unknown) => explain(error, ""),
  );
}

/** Several runs of the engine each: a busy machine is slow. */
const PATIENT = { timeout: 300_000 };

test("a backend of the user's holds the state in place of the folder", PATIENT, async () => {
  await using env = await startDevEnv();
  const backend = join(env.directory, "theirs");
  await mkdir(backend);
  process.env.PULUMI_BACKEND_URL = `file://${backend}`;
  try {
    await env.up({ workers: "0" });
    expect(await readFile(join(backend, ".pulumi", "stacks", "lotse-dev-env", "dev.json"), "utf8")).toContain(
      "10.0.0.31",
    );
    await env.down();
    expect(env.counts()).toEqual(NOTHING);
  } finally {
    delete process.env.PULUMI_BACKEND_URL;
    await rm(new URL("../../dev-env/k3s/Pulumi.dev.yaml", import.meta.url), { force: true });
  }
});

describe("manual changes", PATIENT, () => {
  test("are repaired; a new control plane gets new workers", async () => {
    await using env = await startDevEnv();
    await env.up({ workers: "1" });
    const [control, worker] = [env.server("dev-control-plane-1")?.id, env.server("dev-worker-1")?.id];
    await env.change("DELETE", `/servers/${worker}`);
    const firewall = env.cloud.state.firewalls.find("dev-firewall")?.id;
    await env.change("POST", `/firewalls/${firewall}/actions/set_rules`, { rules: [] });
    await env.up();
    expect(env.lines.toSorted()).toEqual(["firewall dev-firewall changed", "server dev-worker-1 created"]);
    expect(env.cloud.state.firewalls.find("dev-firewall")?.rules).toHaveLength(3);
    expect(env.server("dev-control-plane-1")?.id).toBe(control);

    const second = env.server("dev-worker-1")?.id;
    await env.change("DELETE", `/servers/${control}`);
    await env.up();
    const renewed = env.server("dev-control-plane-1")?.id;
    expect(renewed).toBeGreaterThan(control ?? 0);
    expect(env.server("dev-worker-1")?.id).toBeGreaterThan(second ?? 0);
    expect(await env.userData("dev-worker-1")).toContain(`control_plane='${renewed}'`);
    expect(env.counts()).toEqual(built(2));

    await env.change("DELETE", `/servers/${renewed}`);
    await env.down();
    expect(env.counts()).toEqual(NOTHING);
  });
});

describe("a lost state", PATIENT, () => {
  test("destroys nothing: up refuses, and down asks", async () => {
    await using env = await startDevEnv();
    const other = env.cloud.addNetwork({ name: "other" });
    env.cloud.addServer({ name: "other", network: other.id });
    await env.up({ workers: "1" });
    const before = env.counts();
    const writes = env.cloud.journal.writes.length;
    await rm(env.folder.path, { recursive: true });

    const [lost = "", remedy = ""] = (await failureOf(env.up({ workers: "1" }))).join("\n").split("\n");
    expect(lost).toMatch(/^the state of dev does not know ssh key dev-ssh-key \(\d+\), .*server dev-worker-1 \(\d+\)/);
    expect(remedy).toContain("pulumi import");
    await expect(env.down()).rejects.toThrow(/not agreed: ssh key dev-ssh-key \(\d+\), .*server dev-control-plane-1/);
    expect(env.counts()).toEqual(before);
    expect(env.cloud.journal.writes).toHaveLength(writes);

    await env.down(true);
    expect(env.counts()).toEqual({ ...NOTHING, servers: 1, networks: 1, primaryIps: 2 });
  });
});

describe("a failure", PATIENT, () => {
  const error = (code: string, message: string) => ({ kind: "error", code, message }) as const;

  test("of the API names the resource and the remedy; the next up continues", async () => {
    await using env = await startDevEnv();
    const limit = error("resource_limit_exceeded", "server limit exceeded");
    env.cloud.faults.add({ method: "POST", path: "/servers", skip: 1, effect: limit });
    expect(await failureOf(env.up({ workers: "1" }))).toEqual([
      "server dev-worker-1: server limit exceeded; raise the limit in the Cloud Console, or ask for less; the same command then continues",
    ]);
    expect(env.cloud.state.servers.size).toBe(1);
    env.cloud.faults.clear();
    await env.up();
    expect(env.counts()).toEqual(built(2));
  });

  test("between the steps of a server's creation replaces it: it has booted without its network", async () => {
    await using env = await startDevEnv();
    const path = "/servers/*/actions/attach_to_network";
    env.cloud.faults.add({ method: "POST", path, times: 1, effect: error("server_error", "try later") });
    expect((await failureOf(env.up({ workers: "0" })))[0]).toMatch(/^server dev-control-plane-1: .*try later$/);
    const before = env.server("dev-control-plane-1")?.id;
    await env.up();
    expect(env.server("dev-control-plane-1")?.id).toBeGreaterThan(before ?? 0);
    expect(env.counts()).toEqual(built(1));
  });

  test("is a name in use, a read-only token, or a wrong token: nothing is lost", async () => {
    await using env = await startDevEnv();
    env.cloud.addNetwork({ name: "dev-network" });
    expect(await failureOf(env.up({ workers: "0" }))).toEqual([
      expect.stringMatching(/^network dev-network: .*; .*choose another --name$/),
    ]);
    await env.change("DELETE", `/networks/${env.cloud.state.networks.find("dev-network")?.id}`);
    env.cloud.faults.add({ method: "POST", path: "/**", effect: { kind: "read-only" } });
    expect((await failureOf(env.up()))[0]).toMatch(/HCLOUD_TOKEN .*read-only/);
    env.cloud.faults.clear();
    await env.up();
    expect(env.counts()).toEqual(built(1));
  });

  test("of a stop leaves a state from which the next command continues", async () => {
    await using env = await startDevEnv({ actionMs: 300 });
    const stop = new AbortController();
    const up = env.up({}, stop.signal);
    while (env.cloud.state.servers.size === 0) await new Promise((resolve) => setTimeout(resolve, 10));
    stop.abort();
    await expect(up).rejects.toThrow();
    await env.up();
    expect(env.counts()).toEqual(built(3));
    expect(env.cloud.state.servers.values().map(({ status }) => status)).toEqual(["running", "running", "running"]);
  });
});
