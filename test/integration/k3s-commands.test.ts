import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile, writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { renderChart } from "../../dev-env/chart/render.ts";
import { controllerValues } from "../../dev-env/k3s/cluster/declare.ts";
import { type DevEnv, ENVIRONMENT, startDevEnv } from "../support/dev-env.ts";
import { eventually } from "../support/eventually.ts";

const MAIN = fileURLToPath(new URL("../../dev-env/k3s/main.ts", import.meta.url));

let env: DevEnv;

beforeEach(async () => {
  env = await startDevEnv({ actionMs: 300 });
});

afterEach(() => env[Symbol.asyncDispose]());

/** What `npm run dev-env` starts, on the simulated cloud. */
function start(given: Readonly<Record<string, string>>, command: string, ...flags: readonly string[]) {
  const { PATH = "", HOME = "", XDG_CACHE_HOME } = process.env;
  const child = spawn(process.execPath, [MAIN, command, ...flags, "--name", ENVIRONMENT], {
    stdio: ["ignore", "pipe", "pipe"],
    env: {
      PATH,
      HOME,
      ...(XDG_CACHE_HOME && { XDG_CACHE_HOME }),
      HCLOUD_TOKEN: env.cloud.token,
      HCLOUD_ENDPOINT: env.cloud.url,
      LOTSE_DEV_STATE: env.directory,
      // Nothing answers there: no test leaves this machine.
      HTTPS_PROXY: "http://127.0.0.1:9",
      NO_PROXY: "127.0.0.1",
      ...given,
    },
  });
  // A test may close the output early.
  const output = text(child.stdout).catch(() => "");
  const ended = Promise.all([output, text(child.stderr), once(child, "exit")]);
  return { child, ended: ended.then(([output, errors, [code]]) => ({ output, errors, code: code as number })) };
}

const run = (command: string, ...flags: readonly string[]) => start({}, command, ...flags).ended;
const lines = (output: string) => output.split("\n").map((line) => line.replace(/^ *[\d.]+ s +/, ""));

/** Several runs of the engine each: a busy machine is slow. */
const PATIENT = { timeout: 300_000 };

describe("the commands", PATIENT, () => {
  test("up says what it costs, and creates nothing if the second half could not be built", async () => {
    const { output, errors, code } = await run("up", "--workers", "1");
    expect(code).toBe(1);
    expect(output).toMatch(/cost +about [\d.]+ EUR per month/);
    expect(errors).toMatch(/the Pulumi plugin kubernetes [\d.]+ is not installed and could not be downloaded/);
    expect(errors).toMatch(/connect to the internet .* or set LOTSE_KUBERNETES_PLUGIN/);
    expect(errors).not.toContain("downloading from");
    expect(output).not.toContain("resources that exist already");
    expect(env.cloud.journal.writes).toEqual([]);
    expect(env.folder.choices()).toEqual({ workers: "1" });
  });

  test("preview says that it compares, then what would change, and nothing as if it had happened", async () => {
    const { output, errors, code } = await run("preview", "--workers", "1");
    expect(errors).toBe("");
    expect(code).toBe(2);
    expect(lines(output)[0]).toBe("preview    comparing with the cloud …");
    expect(lines(output)).toContain("preview    + create server dev-worker-1");
    expect(output).not.toMatch(/created$/m);
  });

  test("end silently when the reader of their output has gone", async () => {
    const { child, ended } = start({}, "env");
    child.stdout.destroy();
    expect(await ended).toEqual({ output: "", errors: "", code: 0 });
  });

  test("report all mistakes at once, before they create anything", async () => {
    const bad = await start({ HCLOUD_TOKEN: "", LOTSE_DEV_LOCATION: "mars" }, "up", "--network", "10.0.0.0/28").ended;
    expect(bad.code).toBe(1);
    expect(bad.errors.split("\n")).toEqual([
      "dev-env: HCLOUD_TOKEN is not set: create a token with read and write rights in the Cloud Console",
      'dev-env: --location or LOTSE_DEV_LOCATION: "mars" is not one of fsn1, nbg1, hel1, ash, hil, sin',
      "dev-env: --pods, kept from the last up: the network 10.0.0.0/28 has no room for servers and pods",
      "",
    ]);
    const types = await run("up", "--worker-type", "cx99", "--control-plane-type", "cx98");
    expect(types.errors).toMatch(
      /--control-plane-type: "cx98" is not available in fsn1, which has .*\n.*--worker-type: "cx99"/,
    );
    const refused = await start({ HCLOUD_TOKEN: "wrong" }, "up").ended;
    expect(refused.errors).toBe(
      "dev-env: GET /pricing: the token you have provided is invalid (unauthorized); check HCLOUD_TOKEN\n",
    );
    expect(env.cloud.journal.writes).toEqual([]);
    expect(existsSync(env.folder.path)).toBe(false);
  });

  test("status shows what exists; down removes it, also after Ctrl-C, and forgets the keys", async () => {
    expect(lines((await run("status")).output)[0]).toBe(
      'cloud      nothing of dev exists: "npm run dev-env up" builds it',
    );
    await env.up({ workers: "1" });
    const { output, code } = await run("status");
    expect(code).toBe(0);
    expect(lines(output)).toContain("cloud      server dev-control-plane-1: running, 198.18.0.1");
    expect(lines(output)).toContain('next       the cluster is not built yet: run "npm run dev-env up" again');

    const { child, ended } = start({}, "down");
    await eventually(() => expect(env.cloud.state.servers.size).toBeLessThan(2), { timeoutMs: 60_000, intervalMs: 5 });
    child.kill("SIGINT");
    const stopped = await ended;
    expect(stopped.errors).toBe("dev-env: interrupted: run the same command again to continue\n");
    expect(stopped.code).toBe(1);
    expect(env.cloud.state.networks.size).toBe(1);

    // As if a newer version refused what this one accepted.
    const file = env.folder.configFile("lotse-dev-env");
    await writeFile(file, (await readFile(file, "utf8")).replace(/(:workers:) .*/, "$1 many"));
    expect((await run("status")).errors).toMatch(/^dev-env: --workers, kept from the last up: "many" is not /);
    const last = await run("down");
    expect(last.errors).toBe("");
    expect(lines(last.output)).toContain("gone       nothing of dev is left in the cloud");
    expect(last.code).toBe(0);
    expect(Object.values(env.counts())).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect(existsSync(env.folder.path)).toBe(false);
  });

  test("down without the folder removes nothing unless it is agreed", async () => {
    await env.up({ workers: "0" });
    await env.folder.remove();
    const refused = await run("down");
    expect(refused.output).toMatch(/machines +the state does not know .*server dev-control-plane-1/);
    expect(refused.errors).toBe('dev-env: nothing was removed: run "dev-env down --yes", or restore the state\n');
    expect(env.cloud.state.servers.size).toBe(1);
    expect((await run("down", "--yes")).code).toBe(0);
    expect(Object.values(env.counts())).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
  });

  test("ssh and watch say what is missing; env prints variables for a shell", async () => {
    expect((await run("ssh", "gpu-1")).errors).toBe("dev-env: dev has no server gpu-1; it has none\n");
    expect((await run("watch")).errors).toBe('dev-env: dev has no cluster: run "npm run dev-env up" first\n');
    const { output } = await run("env");
    expect(output).toContain(`export KUBECONFIG='${env.folder.kubeconfig}'\n`);
    expect(output).toContain("export PULUMI_OPTION_STACK='dev'\n");
  });
});

describe("our chart", () => {
  const deployment = async (image?: { repository: string; tag: string }) => {
    const rendered = parseAllDocuments(
      await renderChart(controllerValues({ pods: "10.244.0.0/16", ...(image && { image }) })),
    );
    return rendered.map((document) => document.toJS()).find((object) => object?.kind === "Deployment");
  };

  test("takes the values of this environment, and is found under the name by which it is paused", async () => {
    const { metadata, spec } = await deployment({ repository: "registry.example/lotse", tag: "dev" });
    expect(metadata).toMatchObject({ name: "lotse", namespace: "kube-system" });
    expect(spec.replicas).toBe(1);
    const [container] = spec.template.spec.containers;
    expect(container.image).toBe("registry.example/lotse:dev");
    expect(container.env).toContainEqual({
      name: "HCLOUD_NETWORK",
      valueFrom: { secretKeyRef: { name: "hcloud", key: "network" } },
    });
    expect(container.args.join(" ")).toContain("--cluster-cidr=10.244.0.0/16");
  });

  test("has no replica without an image", async () => {
    expect((await deployment()).spec.replicas).toBe(0);
  });
});
