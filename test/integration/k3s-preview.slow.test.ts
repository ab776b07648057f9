import { execFile } from "node:child_process";
import { rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeSecrets } from "../../dev-env/k3s/secrets.ts";
import { preview } from "../../dev-env/k3s/up.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import { type DevEnv, startDevEnv } from "../support/dev-env.ts";

const run = promisify(execFile);
const K3S = fileURLToPath(new URL("../../dev-env/k3s", import.meta.url));
const MAIN = `${K3S}/main.ts`;

interface Step {
  readonly urn: string;
  readonly operation: string;
}

const CHANGES = ["create", "update", "delete", "replace"];
/** Steps as `create server dev-worker#server-2`, without components. */
const describeSteps = (steps: readonly Step[]) =>
  steps
    .filter(({ operation, urn }) => CHANGES.includes(operation) && /hcloud:index/.test(urn))
    .map(({ operation, urn }) => `${operation} ${urn.split("::").at(-1)}`)
    .toSorted();

describe("previews of an environment", { timeout: 300_000 }, () => {
  let env: DevEnv;
  let variables: Record<string, string>;
  /** Changes of all situations so far. */
  const expected = new Set<string>();

  beforeAll(async () => {
    env = await startDevEnv();
    await env.up({ workers: "1" });
    const own = {
      ...process.env,
      HCLOUD_TOKEN: env.cloud.token,
      HCLOUD_ENDPOINT: env.cloud.url,
      LOTSE_DEV_STATE: env.directory,
    };
    variables = own as unknown as Record<string, string>;
    const { stdout } = await run(process.execPath, [MAIN, "env", "--name", "dev"], { env: variables });
    const { stdout: exported } = await run("sh", ["-c", `${stdout}\nenv -0`], { env: variables });
    variables = Object.fromEntries(exported.split("\0").flatMap((it) => (it === "" ? [] : [split(it)])));
  }, 120_000);
  afterAll(() => env?.[Symbol.asyncDispose]());

  const pulumi = (...args: readonly string[]) =>
    run("pulumi", [...args, "--non-interactive"], { cwd: K3S, env: variables, maxBuffer: 64e6 });

  /** What a plain `pulumi preview` in the folder says. */
  async function plain(): Promise<readonly string[]> {
    const { steps } = JSON.parse((await pulumi("preview", "--json")).stdout) as {
      steps: { op: string; urn: string }[];
    };
    return describeSteps(steps.map(({ op, urn }) => ({ operation: op, urn })));
  }

  /** What `npm run dev-env preview` says. */
  async function comfort(): Promise<readonly string[]> {
    const args = [MAIN, "preview", "--json", "--name", "dev"];
    const { stdout } = await run(process.execPath, args, { env: variables }).catch(
      (error: { stdout: string; code: number }) => {
        expect(error.code).toBe(2);
        return error;
      },
    );
    return describeSteps(JSON.parse(stdout) as readonly Step[]);
  }

  const set = (key: string, value: string) => pulumi("config", "set", key, value);
  const idOf = (kind: "servers" | "firewalls" | "networks", name: string) => env.cloud.state[kind].find(name)?.id;

  // Each situation comes on top of those before it.
  test.each<[string, () => Promise<unknown>, readonly string[]]>([
    ["nothing", async () => {}, []],
    ["a second worker", () => set("workers", "2"), ["create dev-worker#server-2"]],
    [
      "a firewall changed by hand",
      () => env.change("POST", `/firewalls/${idOf("firewalls", "dev-firewall")}/actions/set_rules`, { rules: [] }),
      ["update dev-firewall#firewall"],
    ],
    ["another range for SSH", () => set("allowFrom", "198.51.100.0/24"), []],
    [
      "a label changed by hand",
      () =>
        env.change("PUT", `/networks/${idOf("networks", "dev-network")}`, {
          labels: { "lotse-dev-env": "dev", x: "y" },
        }),
      ["update dev-network#network"],
    ],
    [
      "a server deleted by hand",
      () => env.change("DELETE", `/servers/${idOf("servers", "dev-worker-1")}`),
      ["create dev-worker#server-1"],
    ],
    [
      "a pool",
      () => set("pools", '[{"name":"gpu","count":1,"taints":["gpu=yes:NoSchedule"]}]'),
      ["create dev-gpu#placement-group", "create dev-gpu#server-1"],
    ],
    ["another type of control plane", () => set("controlPlaneType", "cx33"), ["replace dev-control-plane#server-1"]],
  ])("agree with plain pulumi: %s", async (_, cause, added) => {
    await cause();
    for (const step of added) expected.add(step);
    expect(await comfort()).toEqual([...expected].toSorted());
    expect(await plain()).toEqual([...expected].toSorted());
    expect(env.cloud.state.servers.size).toBeLessThan(3);
  });

  test("say what changes in words, and remember no setting", async () => {
    await preview(await env.environment({ ...env.folder.choices(), workers: "5" }), false);
    process.exitCode = 0;
    expect(env.lines.join("\n")).toContain("± replace server dev-control-plane-1 (serverType)");
    expect(env.lines.join("\n")).toContain("+ create server dev-worker-5");
    expect(env.folder.choices()).toMatchObject({ workers: "2" });
  });
});

describe("plain pulumi", { timeout: 300_000 }, () => {
  test("reports all mistakes in the configuration, then builds and destroys an environment without the dev-env command", async () => {
    await using env = await startDevEnv();
    const { binDir, pulumiHome } = await ensureToolchain([
      "pulumi",
      "pulumi-language-nodejs",
      "pulumi-resource-hcloud",
    ]);
    const variables = {
      ...process.env,
      PATH: `${binDir}:${dirname(process.execPath)}:${process.env.PATH}`,
      PULUMI_HOME: pulumiHome,
      PULUMI_BACKEND_URL: `file://${env.directory}`,
      PULUMI_CONFIG_PASSPHRASE: "secret",
      PULUMI_OPTION_STACK: "plain",
      PULUMI_OPTION_CONFIG_FILE: join(env.directory, "plain.yaml"),
      HCLOUD_TOKEN: env.cloud.token,
      HCLOUD_ENDPOINT: env.cloud.url,
    };
    const pulumi = (...args: readonly string[]) =>
      run("pulumi", [...args, "--non-interactive"], { cwd: K3S, env: variables });
    await pulumi("stack", "init");
    await pulumi("config", "set-all", "--plaintext", "location=mars", "--plaintext", "hcloud:pollInterval=20ms");
    const { stdout } = await pulumi("preview").catch((error: { stdout: string }) => error);
    for (const mistake of ['location: "mars" is not one of', "sshPublicKey: is not an OpenSSH", "k3sToken: is not set"])
      expect(stdout).toContain(mistake);

    const { publicKey } = makeSecrets("plain").sshKey;
    const plain = [`sshPublicKey=${publicKey}`, "location=hel1", "workers=0"].flatMap((it) => ["--plaintext", it]);
    await pulumi("config", "set-all", ...plain, "--secret", "k3sToken=secret");
    await pulumi("up", "--yes");
    expect(env.cloud.state.servers.find("plain-control-plane-1")).toMatchObject({ location: { name: "hel1" } });
    await pulumi("destroy", "--yes");
    expect(Object.values(env.counts())).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    await pulumi("stack", "rm", "--yes");
    await rm(join(K3S, "Pulumi.plain.yaml"), { force: true });
  });
});

function split(assignment: string): readonly [string, string] {
  const at = assignment.indexOf("=");
  return [assignment.slice(0, at), assignment.slice(at + 1)];
}
