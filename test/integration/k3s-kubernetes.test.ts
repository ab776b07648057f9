/** The Kubernetes half of a development environment with the real plugin, where there is one. */
import { existsSync } from "node:fs";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { homedir, tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { AppsV1Api, CoreV1Api } from "@kubernetes/client-node";
import kubernetesPackage from "@pulumi/kubernetes/package.json" with { type: "json" };
import { expect, it } from "vitest";
import { CHART } from "../../dev-env/chart/render.ts";
import { type Cluster, connect, startCluster } from "../../dev-env/cluster/cluster.ts";
import { Folder } from "../../dev-env/k3s/environment.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import { StoredStack } from "../../stacks/engine/stack.ts";
import { eventually } from "../support/eventually.ts";

const FOLDER = `resource-kubernetes-v${kubernetesPackage.version}`;
const NAME = "pulumi-resource-kubernetes";
const plugin = [process.env.LOTSE_KUBERNETES_PLUGIN ?? "", join(homedir(), ".pulumi", "plugins", FOLDER, NAME)].find(
  (path) => path !== "" && existsSync(path),
);
if (!plugin)
  process.stderr.write("SKIPPED: Kubernetes half of dev-env, because LOTSE_KUBERNETES_PLUGIN names no plugin\n");

/** Only these: the charts of Cilium and Traefik come from the internet. */
const TARGETS = ["kubernetes:core/v1:Secret::hcloud", "kubernetes:helm.sh/v3:Release::lotse"];

const TOKEN = "a".repeat(64);

async function openStack(cluster: Cluster, directory: string): Promise<StoredStack> {
  const { paths } = await ensureToolchain(["pulumi", "pulumi-language-nodejs"]);
  const plugins = join(directory, "plugins");
  await mkdir(join(plugins, FOLDER), { recursive: true });
  await symlink(plugin ?? "", join(plugins, FOLDER, NAME));
  const folder = new Folder("dev", directory);
  await folder.secrets("dev");
  const stack = await StoredStack.open({
    name: "dev",
    program: resolve("dev-env/k3s/cluster"),
    pulumi: paths.pulumi,
    plugins,
    directory: folder.path,
    configFile: folder.configFile("lotse-dev-cluster"),
    env: { ...process.env, HCLOUD_TOKEN: TOKEN },
  });
  await stack.configure({
    kubeconfig: cluster.kubeconfig,
    chart: CHART,
    demo: resolve("dev-env/examples/ingress.yaml"),
    image: "",
    location: "fsn1",
    pods: "10.244.0.0/16",
    networkId: "7",
  });
  return stack;
}

/** Does what a controller manager would do for the Deployment of no replicas. Helm waits for it. */
async function reportDeployment(apps: AppsV1Api): Promise<void> {
  const namespace = "kube-system";
  const body = await apps.readNamespacedDeployment({ namespace, name: "lotse" });
  const { uid = "", generation = 1, labels = {} } = body.metadata ?? {};
  const owner = { apiVersion: "apps/v1", kind: "Deployment", name: "lotse", uid, controller: true };
  const { selector, template } = body.spec ?? expect.unreachable("the Deployment has a spec");
  const replicaSet = {
    metadata: { name: "lotse-1", labels: { ...labels, ...selector.matchLabels }, ownerReferences: [owner] },
    spec: { replicas: 0, selector, template },
  };
  const { items } = await apps.listNamespacedReplicaSet({ namespace });
  const made = items[0] ?? (await apps.createNamespacedReplicaSet({ namespace, body: replicaSet }));
  const noticed = { ...made, status: { replicas: 0, observedGeneration: made.metadata?.generation ?? 1 } };
  await apps.replaceNamespacedReplicaSetStatus({ namespace, name: "lotse-1", body: noticed });
  body.status = { observedGeneration: generation };
  await apps.replaceNamespacedDeploymentStatus({ namespace, name: "lotse", body });
}

it.runIf(plugin)(
  "installs the token and our chart, and has nothing to do afterwards",
  { timeout: 120_000 },
  async () => {
    await using ends = new AsyncDisposableStack();
    const directory = await mkdtemp(join(tmpdir(), "lotse-dev-env-"));
    ends.defer(() => rm(directory, { recursive: true, force: true }));
    const cluster = await startCluster();
    ends.defer(() => cluster.stop());
    const [apps, core] = [connect(cluster.kubeconfig, AppsV1Api), connect(cluster.kubeconfig, CoreV1Api)];
    const stack = await openStack(cluster, directory);
    const target = TARGETS.map((name) => `urn:pulumi:dev::lotse-dev-cluster::${name}`);

    const up = stack.up({ target });
    await Promise.race([up, eventually(() => reportDeployment(apps), { timeoutMs: 60_000 })]);
    await up;
    const { data } = await core.readNamespacedSecret({ namespace: "kube-system", name: "hcloud" });
    expect(Buffer.from(data?.token ?? "", "base64").toString()).toBe(TOKEN);
    const { spec } = await apps.readNamespacedDeployment({ namespace: "kube-system", name: "lotse" });
    expect(spec).toMatchObject({ replicas: 0 });
    expect(JSON.stringify(await stack.deployment())).not.toContain(TOKEN);
    expect(await stack.preview({ target })).toEqual([]);
  },
);
