import { existsSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import https from "node:https";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import {
  AppsV1Api,
  CoreV1Api,
  type V1Container,
  type V1EnvVar,
  type V1PodSpec,
  type V1Probe,
} from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { CHART, helm } from "../../dev-env/chart/render.ts";
import { type Cloud, startCloud } from "../../dev-env/cloud/cloud.ts";
import { type Cluster, connect, startCluster } from "../../dev-env/cluster/cluster.ts";
import { findFreePort } from "../../dev-env/cluster/loopback.ts";
import { environmentOf } from "../support/chart.ts";
import { Container, whyNoContainers } from "../support/container.ts";
import { eventually } from "../support/eventually.ts";
import { buildImage, type Image } from "../support/image.ts";
import { kubectl } from "../support/kubectl.ts";

const SERVICE_ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount";
const obstacle = whyNoContainers();
if (obstacle) process.stderr.write(`the installation is not tested: ${obstacle}\n`);

/** What the README says under "Install on a cluster", with a kubelet that we play ourselves and an image made without Docker. */
describe.skipIf(obstacle)("an installation", () => {
  let dir: string;
  let cloud: Cloud;
  let cluster: Cluster;
  let core: CoreV1Api;
  let image: Image;
  let container: Container;
  let podSpec: V1PodSpec;
  let pod: V1Container;

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "lotse-install-"));
    [image, cloud, cluster] = await Promise.all([buildImage(dir, "0123abc"), startCloud(), startCluster()]);
    core = connect(cluster.kubeconfig, CoreV1Api);
  }, 600_000);
  afterAll(async () => {
    await container?.stop();
    await Promise.all([cluster?.stop(), cloud?.stop()]);
    await rm(dir, { recursive: true, force: true });
  });

  it("begins with a network, servers in it, and a Secret with token and network", async () => {
    const network = cloud.addNetwork({ name: "cluster" });
    for (const index of [1, 2]) {
      const server = cloud.addServer({ name: `node-${index}`, network: network.id });
      const nodeIp = server.private_net[0]?.ip;
      const podCidrs = [`10.244.${index}.0/24`];
      await cluster.registerNode({ name: server.name, podCidrs, ...(nodeIp && { nodeIp }) });
    }
    const literals = [`--from-literal=token=${cloud.token}`, "--from-literal=network=cluster"];
    await kubectl(cluster.kubeconfig, ["-n", "kube-system", "create", "secret", "generic", "hcloud", ...literals]);
  });

  it("goes on with helm install", async () => {
    const [health, metrics] = [await findFreePort(), await findFreePort()];
    const values = {
      networking: { enabled: true },
      args: { "secure-port": health },
      env: {
        HCLOUD_ENDPOINT: { value: cloud.url },
        HCLOUD_METRICS_ADDRESS: { value: `127.0.0.1:${metrics}` },
        HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: { value: "true" },
      },
    };
    const to = ["--namespace=kube-system", `--kubeconfig=${cluster.kubeconfig}`];
    await helm(["install", "lotse", CHART, ...to, "--values=-"], stringify(values));
    const apps = connect(cluster.kubeconfig, AppsV1Api);
    const deployment = await apps.readNamespacedDeployment({ namespace: "kube-system", name: "lotse" });
    const spec = deployment.spec?.template.spec;
    const [only] = spec?.containers ?? [];
    if (!spec || !only) throw new Error("the Deployment has no container");
    podSpec = spec;
    pod = only;
    await mountVolumes();
    container = new Container({
      root: image.root,
      user: spec.securityContext?.runAsUser ?? 0,
      command: [...image.entrypoint, ...(pod.args ?? [])],
      env: { ...image.env, ...(await environment()) },
    });
  });

  it("initialises the nodes and makes their routes", async () => {
    await eventually(
      async () => {
        const { items } = await core.listNode();
        expect(items.map(({ spec }) => spec?.providerID ?? container.output)).toEqual([
          expect.stringMatching(/^hcloud:\/\/\d+$/),
          expect.stringMatching(/^hcloud:\/\/\d+$/),
        ]);
        expect(cloud.state.networks.values()[0]?.routes).toHaveLength(2);
      },
      { timeoutMs: 60_000 },
    );
  });

  it("builds a balancer for a Service", async () => {
    const annotations = { "load-balancer.hetzner.cloud/location": "fsn1" };
    const spec = { type: "LoadBalancer", ports: [{ port: 80 }] };
    await core.createNamespacedService({
      namespace: "default",
      body: { metadata: { name: "web", annotations }, spec },
    });
    await eventually(async () => {
      const { status } = await core.readNamespacedService({ namespace: "default", name: "web" });
      expect(status?.loadBalancer?.ingress ?? container.output).toHaveLength(3);
    });
  });

  it.each(["startupProbe", "livenessProbe", "readinessProbe"] as const)("passes its %s", async (name) => {
    await eventually(async () => expect(await probe(pod[name])).toBe(200));
  });

  it("runs as the chart says: another user, a root that cannot be written, nothing but itself in it", async () => {
    const { runAsUser } = podSpec.securityContext ?? {};
    const of = (file: string) => readFile(`/proc/${container.pid}/${file}`, "utf8");
    expect(await of("status")).toMatch(new RegExp(`^Uid:\\t${runAsUser}\\t${runAsUser}\\t`, "m"));
    expect(podSpec.containers[0]?.securityContext?.readOnlyRootFilesystem).toBe(true);
    expect(await of("mountinfo")).toMatch(/\/root \/ ro[, ]/);
    for (const shell of ["bin/sh", "usr/bin/env"]) expect(existsSync(join(image.root, shell)), shell).toBe(false);
  });

  it("ends when it is asked to", async () => {
    expect(await container.stop()).toBe(0);
  });

  /** What a kubelet mounts: the service account, and the token from its Secret. */
  async function mountVolumes(): Promise<void> {
    const { data = {} } = await core.readNamespacedSecret({ namespace: "kube-system", name: "hcloud" });
    const body = { spec: { audiences: [], expirationSeconds: 3_600 } };
    const request = { namespace: "kube-system", name: "lotse", body };
    const { status } = await core.createNamespacedServiceAccountToken(request);
    const files: Readonly<Record<string, string>> = {
      [`${SERVICE_ACCOUNT}/token`]: status?.token ?? "",
      [`${SERVICE_ACCOUNT}/ca.crt`]: await authorityOf(cluster),
      "etc/hcloud/token": Buffer.from(data.token ?? "", "base64").toString(),
    };
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(image.root, path)), { recursive: true });
      await writeFile(join(image.root, path), content, { mode: 0o444 });
    }
  }

  async function environment(): Promise<Readonly<Record<string, string>>> {
    const { data = {} } = await core.readNamespacedSecret({ namespace: "kube-system", name: "hcloud" });
    const { hostname, port } = new URL(cluster.url);
    const resolve = ({ valueFrom }: V1EnvVar) => {
      if (valueFrom?.fieldRef) return "kube-system";
      const value = data[valueFrom?.secretKeyRef?.key ?? ""];
      return value === undefined ? undefined : Buffer.from(value, "base64").toString();
    };
    const api = { KUBERNETES_SERVICE_HOST: hostname, KUBERNETES_SERVICE_PORT: port };
    return { ...api, ...environmentOf(pod.env ?? [], resolve) };
  }

  /** Asks as a kubelet does, which takes any certificate. */
  function probe(given: V1Probe | undefined): Promise<number | undefined> {
    const { path, port: name, scheme } = given?.httpGet ?? {};
    expect(scheme).toBe("HTTPS");
    const port = pod.ports?.find((it) => it.name === name)?.containerPort;
    return new Promise((resolve, reject) => {
      const request = https.get(
        { host: "127.0.0.1", port, path, rejectUnauthorized: false, timeout: 5_000 },
        (response) => {
          response.resume();
          resolve(response.statusCode);
        },
      );
      request.on("error", reject);
    });
  }
});

async function authorityOf(cluster: Cluster): Promise<string> {
  const config = JSON.parse(await kubectl(cluster.kubeconfig, ["config", "view", "--raw", "--output=json"]));
  return Buffer.from(config.clusters[0].cluster["certificate-authority-data"], "base64").toString();
}
