import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseAllDocuments } from "yaml";
import { renderChart } from "../../dev-env/chart/render.ts";
import { controllerValues } from "../../dev-env/k3s/cluster.ts";
import { type DevEnv, ENVIRONMENT, startDevEnv } from "../support/dev-env.ts";
import { eventually } from "../support/eventually.ts";

const MAIN = fileURLToPath(new URL("../../dev-env/k3s/main.ts", import.meta.url));

let env: DevEnv;

beforeEach(async () => {
  env = await startDevEnv({ actionMs: 300 });
});

afterEach(() => env[Symbol.asyncDispose]());

/** What `npm run dev-env` starts, on the simulated cloud. */
function start(command: string, ...flags: readonly string[]) {
  const { PATH = "", HOME = "", XDG_CACHE_HOME } = process.env;
  const child = spawn(process.execPath, [MAIN, command, "--name", ENVIRONMENT, ...flags], {
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
    },
  });
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  return { child, ended: ended.then(([output, errors, [code]]) => ({ output, errors, code: code as number })) };
}

const run = (command: string, ...flags: readonly string[]) => start(command, ...flags).ended;
const lines = (output: string) => output.split("\n").map((line) => line.replace(/^ *[\d.]+ s +/, ""));

/** Several runs of the engine each: on a busy machine that takes its time. */
const PATIENT = { timeout: 300_000 };

describe("the commands", PATIENT, () => {
  test("up says what it costs, and builds nothing when the second half could not be built", async () => {
    const { output, errors, code } = await run("up", "--workers", "1");
    expect(code).toBe(1);
    expect(output).toMatch(/cost +about [\d.]+ EUR per month/);
    expect(errors).toMatch(/the Pulumi plugin kubernetes [\d.]+ is not installed and could not be downloaded/);
    expect(errors).toContain("connect to the internet");
    expect(env.cloud.journal.writes).toEqual([]);
    expect(await env.folder.choices()).toEqual({ name: ENVIRONMENT, workers: "1" });
  });

  test("status tells what there is; down removes it, also after Ctrl-C, and forgets the keys", async () => {
    expect(lines((await run("status")).output)[0]).toBe("cloud      nothing of dev is there");
    await env.up({ workers: "1" });
    const { output, code } = await run("status");
    expect(code).toBe(0);
    expect(lines(output)).toContain("cloud      server dev-control-plane: running, 198.18.0.1");
    expect(lines(output)).toContain('cluster    no kubeconfig yet: run "npm run dev-env up" again');

    const { child, ended } = start("down");
    await eventually(() => expect(env.cloud.state.servers.size).toBeLessThan(2), { timeoutMs: 60_000, intervalMs: 5 });
    child.kill("SIGINT");
    const stopped = await ended;
    expect(stopped.errors).toBe("dev-env: stopped half-way: the same command goes on from there\n");
    expect(stopped.code).toBe(1);
    expect(env.cloud.state.networks.size).toBe(1);

    const last = await run("down");
    expect(lines(last.output)).toContain("gone       nothing of dev is left in the cloud");
    expect(last.code).toBe(0);
    expect(Object.values(env.counts())).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
    expect(existsSync(env.folder.path)).toBe(false);
  });

  test("down works for an unreachable cluster, and without the folder", async () => {
    await env.up({ workers: "0" });
    await env.folder.write("kubeconfig", KUBECONFIG);
    const { output, code } = await run("down");
    expect(output).toMatch(/cluster +cannot be asked \(.*\): its balancers are removed without it/);
    expect(code).toBe(0);
    expect(env.cloud.state.servers.size).toBe(0);

    await env.up({ workers: "0" });
    await env.folder.remove();
    expect((await run("down")).code).toBe(0);
    expect(Object.values(env.counts())).toEqual([0, 0, 0, 0, 0, 0, 0, 0]);
  });

  test("kubeconfig and watch say what is missing", async () => {
    expect((await run("kubeconfig")).errors).toBe('dev-env: dev has no control plane: run "npm run dev-env up"\n');
    expect((await run("watch")).errors).toBe('dev-env: dev has no cluster: run "npm run dev-env up" first\n');
  });
});

/** Of a cluster that refuses connections. */
const KUBECONFIG = JSON.stringify({
  clusters: [{ name: "dev", cluster: { server: "https://127.0.0.1:9" } }],
  users: [{ name: "dev", user: { token: "none" } }],
  contexts: [{ name: "dev", context: { cluster: "dev", user: "dev" } }],
  "current-context": "dev",
});

describe("our chart", () => {
  const deployment = async (image?: { repository: string; tag: string }) => {
    const rendered = parseAllDocuments(await renderChart(controllerValues({ ...(image && { image }) })));
    return rendered.map((document) => document.toJS()).find((object) => object?.kind === "Deployment");
  };

  test("takes the values of this environment, and is found under the name by which it is set aside", async () => {
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
