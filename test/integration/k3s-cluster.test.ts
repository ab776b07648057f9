import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppsV1Api, CoreV1Api, type V1Deployment } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { connect } from "../../dev-env/cluster/cluster.ts";
import { Folder } from "../../dev-env/k3s/environment.ts";
import { obtainKubeconfig } from "../../dev-env/k3s/ssh.ts";
import { pauseController, resumeController } from "../../dev-env/k3s/watch.ts";
import { Screen } from "../../dev-env/terminal/screen.ts";
import { eventually } from "../support/eventually.ts";
import { SshServer } from "../support/ssh-server.ts";
import { startWorld, type World } from "../support/world.ts";

const WAITING = { deadlineMs: 60_000, intervalMs: 100 };
const NAMESPACE = "kube-system";

let world: World;
let apps: AppsV1Api;

beforeAll(async () => {
  world = await startWorld();
  apps = connect(world.cluster.kubeconfig, AppsV1Api);
});

afterAll(() => world?.[Symbol.asyncDispose]());

const read = () => apps.readNamespacedDeployment({ namespace: NAMESPACE, name: "lotse" });

/** Like the chart's. Nothing here runs its pods. */
async function createDeployment(replicas: number): Promise<void> {
  const labels = { app: "lotse" };
  const body: V1Deployment = {
    metadata: { name: "lotse" },
    spec: {
      replicas,
      selector: { matchLabels: labels },
      template: {
        metadata: { labels },
        spec: { containers: [{ name: "lotse", image: "registry.example/lotse:dev" }] },
      },
    },
  };
  await apps.createNamespacedDeployment({ namespace: NAMESPACE, body });
}

/** Reports pods, as a controller manager would. */
async function reportPods(count: number): Promise<void> {
  const body = await read();
  body.status = { replicas: count, readyReplicas: count };
  await apps.replaceNamespacedDeploymentStatus({ namespace: NAMESPACE, name: "lotse", body });
}

/** A kubeconfig in the form in which k3s writes it. */
function asOfK3s({ clusters, users }: { clusters: { cluster: object }[]; users: { user: object }[] }): string {
  return stringify({
    apiVersion: "v1",
    clusters: [{ cluster: clusters[0]?.cluster, name: "default" }],
    contexts: [{ context: { cluster: "default", user: "default" }, name: "default" }],
    "current-context": "default",
    kind: "Config",
    users: [{ name: "default", user: users[0]?.user }],
  });
}

test("the kubeconfig is fetched over SSH, leads to the API server, and is readable for its owner only", async () => {
  await using ends = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "lotse-dev-env-"));
  ends.defer(() => rm(directory, { recursive: true, force: true }));
  const folder = new Folder("dev", directory);
  const { hostKey, sshKey } = await folder.secrets("dev");
  const stdout = asOfK3s(JSON.parse(await readFile(world.cluster.kubeconfig, "utf8")));
  const machine = await SshServer.start({ hostKey, authorized: sshKey, answer: () => ({ stdout, code: 0 }) });
  ends.use(machine);
  const told: string[] = [];
  const screen = new Screen({ write: (text) => told.push(text) });
  const env = { folder, name: "dev", screen, signal: AbortSignal.timeout(60_000) };
  const uid = await obtainKubeconfig(env, "127.0.0.1", "127.0.0.1", machine.port);
  expect(uid).toBe((await world.core.readNamespace({ name: NAMESPACE })).metadata?.uid);

  expect((await stat(folder.kubeconfig)).mode & 0o777).toBe(0o600);
  const core = connect(folder.kubeconfig, CoreV1Api);
  expect((await core.listNode()).items).toHaveLength(3);
  expect(await readFile(join(folder.path, "known-hosts"), "utf8")).toBe(`control-plane ${hostKey.publicKey}\n`);
  expect(told.at(-1)).toContain("API server ready");
});

describe("the controller in the cluster", () => {
  test("may not exist: then there is nothing to pause or to resume", async () => {
    await pauseController(world.observer, WAITING);
    await resumeController(world.observer);
  });

  test("is paused, and gets its replicas back, also from another process after a crash", async () => {
    await createDeployment(2);
    await reportPods(2);
    const aside = pauseController(world.observer, WAITING);
    await eventually(async () => expect((await read()).spec?.replicas).toBe(0));
    await reportPods(0);
    await aside;
    await pauseController(world.observer, WAITING); // a second `watch` after the first was killed
    await resumeController(world.observer);
    expect((await read()).spec?.replicas).toBe(2);
    expect((await read()).metadata?.annotations ?? {}).not.toHaveProperty("lotse-dev-env/replicas");
    await resumeController(world.observer);
    expect((await read()).spec?.replicas).toBe(2);
  });

  test("is reported if its pods do not end", async () => {
    await reportPods(1);
    const aside = pauseController(world.observer, { deadlineMs: 200, intervalMs: 50 });
    await expect(aside).rejects.toThrow(/has not stopped/);
    await resumeController(world.observer);
  });
});
