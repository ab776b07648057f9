import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, utimesSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { AppsV1Api } from "@kubernetes/client-node";
import { expect, test } from "vitest";
import { connect } from "../../dev-env/cluster/cluster.ts";
import { Folder } from "../../dev-env/k3s/environment.ts";
import { eventually } from "../support/eventually.ts";
import { reply, startServer } from "../support/http-server.ts";
import { startWorld } from "../support/world.ts";

const MAIN = fileURLToPath(new URL("../../dev-env/k3s/main.ts", import.meta.url));
const SOURCE = fileURLToPath(new URL("../../controller/diagnostics/log.ts", import.meta.url));

/** `dev-env watch` as a process, and the lines it shows. */
function startWatch(env: Readonly<Record<string, string>>) {
  const { PATH = "", HOME = "", XDG_CACHE_HOME } = process.env;
  const inherited = { PATH, HOME, ...(XDG_CACHE_HOME && { XDG_CACHE_HOME }) };
  const child = spawn(process.execPath, [MAIN, "watch", "--name", "dev"], { env: { ...inherited, ...env } });
  const lines: string[] = [];
  for (const input of [child.stdout, child.stderr]) createInterface({ input }).on("line", (line) => lines.push(line));
  const ended = once(child, "exit").then(([code]) => code as number | null);
  return { child, lines, ended, count: (pattern: RegExp) => lines.filter((line) => pattern.test(line)).length };
}

test("the controller from the sources takes over, restarts when a source changes, and hands back", async () => {
  await using world = await startWorld({ nodes: 1 });
  const directory = await mkdtemp(join(tmpdir(), "lotse-dev-env-"));
  await using ends = new AsyncDisposableStack();
  ends.defer(() => rm(directory, { recursive: true, force: true }));
  await world.changeCloud("PUT", `/networks/${world.networkId}`, { name: "dev-network" });
  await new Folder("dev", directory).write("kubeconfig", readFileSync(world.cluster.kubeconfig, "utf8"));
  const apps = connect(world.cluster.kubeconfig, AppsV1Api);
  const labels = { app: "lotse" };
  const template = {
    metadata: { labels },
    spec: { containers: [{ name: "lotse", image: "registry.example/lotse:dev" }] },
  };
  const body = { metadata: { name: "lotse" }, spec: { replicas: 1, selector: { matchLabels: labels }, template } };
  await apps.createNamespacedDeployment({ namespace: "kube-system", body });
  const replicas = async () =>
    (await apps.readNamespacedDeployment({ namespace: "kube-system", name: "lotse" })).spec?.replicas;

  const watch = startWatch({
    HCLOUD_TOKEN: world.cloud.token,
    HCLOUD_ENDPOINT: world.cloud.url,
    LOTSE_DEV_STATE: directory,
    TMPDIR: world.cluster.dir,
  });
  ends.defer(async () => {
    watch.child.kill("SIGTERM");
    await watch.ended;
  });
  await eventually(() => expect(watch.lines.join("\n")).toMatch(/node-1 initialised/), { timeoutMs: 60_000 });
  expect(await replicas()).toBe(0);

  utimesSync(SOURCE, new Date(), new Date());
  await eventually(() => expect(watch.count(/controller +running/), watch.lines.join("\n")).toBe(2), {
    timeoutMs: 60_000,
  });
  expect(watch.count(/Restarting/)).toBe(1);

  watch.child.kill("SIGINT");
  expect(await watch.ended).toBe(0);
  expect(await replicas()).toBe(1);
});

test("a closed terminal, which may send SIGHUP twice, hands back, too", async () => {
  await using ends = new AsyncDisposableStack();
  let replicas = 2;
  let annotations = {};
  const hangUp = () => watch.child.kill("SIGHUP");
  const api = await startServer(async ({ method, path, body }, response) => {
    if (!path.endsWith("/deployments/lotse")) return reply(response, {}, 401); // the controller gives up
    if (method === "PATCH") {
      const patch = JSON.parse(body);
      replicas = patch.spec.replicas;
      annotations = patch.metadata.annotations;
      if (replicas > 0) hangUp(); // for the second time
      await delay(200);
    }
    reply(response, { metadata: { annotations }, spec: { replicas }, status: { replicas } });
  });
  ends.defer(() => api.stop());
  const directory = await mkdtemp(join(tmpdir(), "lotse-dev-env-"));
  ends.defer(() => rm(directory, { recursive: true, force: true }));
  const cluster = { name: "a", cluster: { server: api.url } };
  const context = { name: "a", context: { cluster: "a", user: "a" } };
  const kubeconfig = { "current-context": "a", contexts: [context], clusters: [cluster], users: [{ name: "a" }] };
  await new Folder("dev", directory).write("kubeconfig", JSON.stringify(kubeconfig));

  const watch = startWatch({
    HCLOUD_TOKEN: "x".repeat(64),
    HCLOUD_ENDPOINT: `${api.url}/v1`,
    LOTSE_DEV_STATE: directory,
    TMPDIR: directory,
  });
  ends.defer(() => void watch.child.kill("SIGKILL"));
  await eventually(() => expect(watch.lines.join("\n")).toMatch(/the controller runs from the sources/));
  expect(replicas).toBe(0);
  hangUp();
  expect(await watch.ended).toBe(0);
  expect(replicas).toBe(2);
});
