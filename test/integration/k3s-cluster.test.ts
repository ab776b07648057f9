import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppsV1Api, CoreV1Api, type V1Deployment } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { connect } from "../../dev-env/cluster/cluster.ts";
import { loadConfig } from "../../dev-env/k3s/config.ts";
import { releaseBalancers } from "../../dev-env/k3s/down.ts";
import { Folder } from "../../dev-env/k3s/folder.ts";
import { putControllerBack, setControllerAside } from "../../dev-env/k3s/in-cluster.ts";
import { obtainKubeconfig } from "../../dev-env/k3s/obtain-kubeconfig.ts";
import { Screen } from "../../dev-env/k3s/screen.ts";
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

/** As the chart's: nobody here would run its pods. */
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

/** Says what a controller manager would about the pods. */
async function reportPods(count: number): Promise<void> {
  const body = await read();
  body.status = { replicas: count, readyReplicas: count };
  await apps.replaceNamespacedDeploymentStatus({ namespace: NAMESPACE, name: "lotse", body });
}

test("the kubeconfig is fetched over SSH, leads to the API server, and is readable for its owner alone", async () => {
  await using ends = new AsyncDisposableStack();
  const directory = await mkdtemp(join(tmpdir(), "lotse-dev-env-"));
  ends.defer(() => rm(directory, { recursive: true, force: true }));
  const folder = new Folder("dev", directory);
  const { hostKey, sshKey } = await folder.secrets("dev");
  const stdout = await readFile(world.cluster.kubeconfig, "utf8");
  const machine = await SshServer.start({ hostKey, authorized: sshKey, answer: () => ({ stdout, code: 0 }) });
  ends.use(machine);
  const told: string[] = [];
  const screen = new Screen({ write: (text) => told.push(text) });
  const env = { folder, config: loadConfig({ name: "dev" }), screen, signal: AbortSignal.timeout(60_000) };
  await obtainKubeconfig(env, "127.0.0.1", machine.port);

  expect((await stat(folder.kubeconfig)).mode & 0o777).toBe(0o600);
  const core = connect(folder.kubeconfig, CoreV1Api);
  expect((await core.listNode()).items).toHaveLength(3);
  expect(await readFile(join(folder.path, "known-hosts"), "utf8")).toBe(`127.0.0.1 ${hostKey.publicKey}\n`);
  expect(told.at(-1)).toContain("API server ready");
});

describe("the controller in the cluster", () => {
  test("may not be there: then there is nothing to set aside or to put back", async () => {
    await setControllerAside(world.observer, WAITING);
    await putControllerBack(world.observer);
  });

  test("is set aside, waited for, and gets its replicas back, also from somebody else after a crash", async () => {
    await createDeployment(2);
    await reportPods(2);
    const aside = setControllerAside(world.observer, WAITING);
    await eventually(async () => expect((await read()).spec?.replicas).toBe(0));
    await reportPods(0);
    await aside;
    await setControllerAside(world.observer, WAITING); // a second `watch` after the first was killed
    await putControllerBack(world.observer);
    expect((await read()).spec?.replicas).toBe(2);
    expect((await read()).metadata?.annotations ?? {}).not.toHaveProperty("lotse-dev-env/replicas");
    await putControllerBack(world.observer);
    expect((await read()).spec?.replicas).toBe(2);
  });

  test("is complained about when its pods do not end", async () => {
    await reportPods(1);
    const aside = setControllerAside(world.observer, { deadlineMs: 200, intervalMs: 50 });
    await expect(aside).rejects.toThrow(/does not end/);
    await putControllerBack(world.observer);
  });
});

describe("before the servers go", () => {
  test("Services are deleted, and waited for until the controller has removed their balancers", async () => {
    await reportPods(1);
    world.startController();
    await world.createService("one");
    await world.createService("two");
    await eventually(() => expect(world.cloud.state.loadBalancers.size).toBe(2));
    const told: string[] = [];
    const uids = await releaseBalancers(world.observer, (text) => told.push(text), WAITING);
    expect(uids).toHaveLength(2);
    expect(told).toEqual(["2 of 2 Services released by the controller"]);
    expect(world.cloud.state.loadBalancers.size).toBe(0);
    expect(await releaseBalancers(world.observer, (text) => told.push(text), WAITING)).toEqual([]);
  });

  test("nobody waits for a controller that does not run; the Services' balancers are known by their uids", async () => {
    await reportPods(0);
    const held = await world.core.createNamespacedService({
      namespace: "default",
      body: {
        metadata: { name: "held", finalizers: ["example.com/hold"] },
        spec: { type: "LoadBalancer", loadBalancerClass: "example.com/other", ports: [{ port: 80 }] },
      },
    });
    const told: string[] = [];
    const started = performance.now();
    expect(await releaseBalancers(world.observer, (text) => told.push(text), WAITING)).toEqual([held.metadata?.uid]);
    expect(performance.now() - started).toBeLessThan(10_000);
    expect(told).toEqual(["default/held: removed with the rest"]);
  });
});
