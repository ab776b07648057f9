import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import https from "node:https";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
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
import { type Cloud, startCloud } from "../../dev-env/cloud/cloud.ts";
import { type Cluster, connect, startCluster } from "../../dev-env/cluster/cluster.ts";
import { findFreePort } from "../../dev-env/cluster/loopback.ts";
import { provideBase, unpackBase } from "../../dev-env/image/base.ts";
import { buildTrees, type Tree } from "../../dev-env/image/tree.ts";
import { ensureToolchain, thisArchitecture } from "../../dev-env/toolchain/toolchain.ts";
import { environmentOf } from "../support/chart.ts";
import { Shell } from "../support/console.ts";
import { Container, whyNoContainers } from "../support/container.ts";
import { eventually } from "../support/eventually.ts";
import { kubectl } from "../support/kubectl.ts";
import { anonymousMb, descendantsOf, residentMb } from "../support/process-tree.ts";
import { sectionOf, shellLines } from "../support/readme.ts";

const run = promisify(execFile);
const SERVICE_ACCOUNT = "var/run/secrets/kubernetes.io/serviceaccount";
const obstacle = whyNoContainers();
if (obstacle) process.stderr.write(`the installation is not tested: ${obstacle}\n`);

const README = shellLines(sectionOf(readFileSync("README.md", "utf8"), "Install on a cluster"));
const COMMIT = "0123456789abcdef0123456789abcdef01234567";

/**
 * Runs the commands of the README under "Install on a cluster". Docker and git are replaced by programs that record
 * their arguments; the image is built as `npm run image` does, and the test acts as the kubelet.
 */
describe.skipIf(obstacle)("an installation", () => {
  let dir: string;
  let shell: Shell;
  let cloud: Cloud;
  let cluster: Cluster;
  let core: CoreV1Api;
  let image: Tree;
  let container: Container;
  let podSpec: V1PodSpec;
  let pod: V1Container;
  let imageName: string;
  const pasted = new Set<string>();

  beforeAll(async () => {
    dir = await mkdtemp(join(tmpdir(), "lotse-install-"));
    [cloud, cluster] = await Promise.all([startCloud(), startCluster()]);
    core = connect(cluster.kubeconfig, CoreV1Api);
    shell = new Shell(process.cwd());
    await shell.run(`export KUBECONFIG=${cluster.kubeconfig} PATH=${await programs()}:$PATH`);
  }, 60_000);
  afterAll(async () => {
    await container?.stop();
    await shell?.[Symbol.asyncDispose]();
    await Promise.all([cluster?.stop(), cloud?.stop()]);
    await rm(dir, { recursive: true, force: true });
  });

  it("builds an image of this commit, with the name that the chart uses", async () => {
    for (const line of linesWith(/^IMAGE=|^docker /)) await paste(line);
    const [built = [], pushed = []] = (await readFile(join(dir, "docker"), "utf8"))
      .trimEnd()
      .split("\n")
      .map((line) => line.split(" "));
    const [context = "", ...options] = built.toReversed();
    expect([context, built[0], pushed[0]]).toEqual([".", "build", "push"]);
    expect(built).toEqual(expect.arrayContaining(["-f", "controller/deploy/Dockerfile"]));
    expect(built[built.indexOf("-t") + 1]).toBe(pushed[1]);
    imageName = pushed[1] ?? "";
    const args = options.filter((word) => /^\w+=/.test(word)).map((word) => word.split("=") as [string, string]);
    const known = (await readFile("controller/deploy/Dockerfile", "utf8")).matchAll(/^ARG (LOTSE_\w+)/gm);
    expect(args.map(([name]) => name).toSorted()).toEqual([...known].map(([, name]) => name).toSorted());
    image = await buildRoot(Object.fromEntries(args));
    const main = join(image.root, image.config.entrypoint.at(-1) ?? "");
    const { stdout } = await run(process.execPath, [main, "version"], { env: image.config.env });
    expect(stdout).toContain(`commit   ${COMMIT}\n`);
    expect(stdout).toContain(`lotse    ${imageName.split(":v").at(-1)}\n`);
  }, 600_000);

  it("creates a network, servers, and a Secret with token and network", async () => {
    const network = cloud.addNetwork({ name: "cluster" });
    for (const index of [1, 2]) {
      const server = cloud.addServer({ name: `node-${index}`, network: network.id });
      const nodeIp = server.private_net[0]?.ip;
      const podCidrs = [`10.244.${index}.0/24`];
      await cluster.registerNode({ name: server.name, podCidrs, ...(nodeIp && { nodeIp }) });
    }
    const [line = ""] = linesWith(/^kubectl .*create secret/);
    await paste(line.replace("token=…", `token=${cloud.token}`).replace("network=…", "network=cluster"));
  });

  it("installs the chart", async () => {
    const [health, metrics] = [await findFreePort(), await findFreePort()];
    // Only what differs from a real cluster: the cloud, and ports that are in use.
    const values = {
      args: { "secure-port": health },
      env: {
        HCLOUD_ENDPOINT: { value: cloud.url },
        HCLOUD_METRICS_ADDRESS: { value: `127.0.0.1:${metrics}` },
        HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: { value: "true" },
      },
    };
    await writeFile(join(dir, "values.yaml"), stringify(values));
    const [line = ""] = linesWith(/^helm install/);
    await paste(`${line} --values ${join(dir, "values.yaml")}`);
    const apps = connect(cluster.kubeconfig, AppsV1Api);
    const deployment = await apps.readNamespacedDeployment({ namespace: "kube-system", name: "lotse" });
    const spec = deployment.spec?.template.spec;
    const [only] = spec?.containers ?? [];
    if (!spec || !only) throw new Error("the Deployment has no container");
    podSpec = spec;
    pod = only;
    expect(pod.image).toBe(imageName);
    await mountVolumes();
    container = new Container({
      root: image.root,
      user: spec.securityContext?.runAsUser ?? 0,
      command: [...image.config.entrypoint, ...(pod.args ?? [])],
      env: { ...image.config.env, ...(await environment()) },
    });
  });

  it("initialises the nodes and creates their routes", async () => {
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
    const [line = ""] = linesWith(/^kubectl get nodes/);
    expect(await paste(line)).toMatch(/^node-1 .*\nnode-2 /m);
  });

  it("shows logs as the README says, and leaves out none of its commands", async () => {
    const [line = ""] = linesWith(/^kubectl .* logs /);
    expect(await paste(line.replace(" logs ", " get "))).toMatch(/^lotse /m); // without a kubelet there are no logs
    expect(README.filter((one) => !pasted.has(one))).toEqual([]);
  });

  it("creates a load balancer for a Service", async () => {
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

  it("runs as the chart says: another user, a read-only root, and no other processes", async () => {
    const { runAsUser } = podSpec.securityContext ?? {};
    const of = (file: string) => readFile(`/proc/${controllerPid()}/${file}`, "utf8");
    expect(await of("status")).toMatch(new RegExp(`^Uid:\\t${runAsUser}\\t${runAsUser}\\t`, "m"));
    expect(podSpec.containers[0]?.securityContext?.readOnlyRootFilesystem).toBe(true);
    expect(await of("mountinfo")).toMatch(/\/(amd64|arm64) \/ ro[, ]/);
    expect(await of("limits")).toMatch(/^Max core file size +([01]) +\1 +bytes/m);
    for (const shell of ["bin/sh", "usr/bin/env"]) expect(existsSync(join(image.root, shell)), shell).toBe(false);
  });

  it("runs nothing of the engine at rest, and needs no more memory than the chart requests", async () => {
    const controller = controllerPid();
    await eventually(() => expect(descendantsOf(controller)).toEqual([]), { timeoutMs: 60_000 });
    const requested = /^(\d+)Mi$/.exec(pod.resources?.requests?.memory ?? "")?.[1];
    expect(residentMb(controller)).toBeLessThan(Number(requested));
    expect(residentMb(controller)).toBeLessThanOrEqual(90);
    expect(anonymousMb(controller)).toBeLessThanOrEqual(35);
  });

  it("exits on SIGTERM", async () => {
    expect(await container.stop()).toBe(0);
  });

  /** The image's files with those of its base, in one folder, as a container runtime mounts them. */
  async function buildRoot(args: Readonly<Record<string, string>>): Promise<Tree> {
    const { paths } = await ensureToolchain();
    const [tree] = await buildTrees(dir, { args, engines: { [thisArchitecture]: paths } });
    if (!tree) throw new Error("no files were built for this architecture");
    await unpackBase(await provideBase(tree.base, thisArchitecture), thisArchitecture, tree.root);
    for (const mountPoint of ["proc", "tmp", "dev"]) await mkdir(join(tree.root, mountPoint), { recursive: true });
    return tree;
  }

  /** The controller is the only child of tini. */
  function controllerPid(): number {
    return descendantsOf(container.pid ?? 0)[0]?.pid ?? 0;
  }

  function linesWith(pattern: RegExp): readonly string[] {
    const found = README.filter((line) => pattern.test(line));
    for (const line of found) pasted.add(line);
    expect(found, String(pattern)).not.toEqual([]);
    return found;
  }

  /** Runs a command and returns its output. Rejects if it fails. */
  async function paste(command: string): Promise<string> {
    const output = await shell.run(`${command}\necho "ended with $?"`);
    expect(output, command).toMatch(/ended with 0\n$/);
    return output;
  }

  /** Creates a folder with the programs that the README's commands call. */
  async function programs(): Promise<string> {
    const bin = join(dir, "bin");
    const { paths } = await ensureToolchain(["kubectl", "helm"]);
    await mkdir(bin);
    for (const name of ["kubectl", "helm"] as const) await symlink(paths[name], join(bin, name));
    const notes = { docker: `echo "$@" >> ${join(dir, "docker")}`, git: `echo ${COMMIT}` };
    for (const [name, script] of Object.entries(notes))
      await writeFile(join(bin, name), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    return bin;
  }

  /** Mounts what a kubelet would mount: the service account, and the token from its Secret. */
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

  /** Sends a request like a kubelet, which accepts any certificate. */
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
