import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { V1EnvVar } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { stringify } from "yaml";
import { type Config, loadConfig } from "../../controller/config/config.ts";
import { MANIFESTS, staleManifests } from "../../dev-env/chart/manifests.ts";
import { CHART, type ChartValues, helm, renderChart } from "../../dev-env/chart/render.ts";
import { type Cluster, startCluster } from "../../dev-env/cluster/cluster.ts";
import {
  containerOf,
  environmentOf,
  flagsOf,
  objectsOf,
  parseObjects,
  type Rendered,
  workloadOf,
} from "../support/chart.ts";
import { eventually } from "../support/eventually.ts";
import { kubectl as runKubectl } from "../support/kubectl.ts";
import { sectionOf, shellLines } from "../support/readme.ts";

const MONITORING_APIS = ["monitoring.coreos.com/v1/PodMonitor", "monitoring.coreos.com/v1/PrometheusRule"];

/** Common sets of values. Each is rendered, applied to the API server, and parsed by the program. */
const SETS: Readonly<Record<string, ChartValues>> = {
  "the defaults": {},
  "a DaemonSet": {
    kind: "DaemonSet",
    nodeSelector: { "node-role.kubernetes.io/control-plane": "" },
    strategy: { type: "Recreate" },
  },
  "a network with routes": {
    networking: { enabled: true, clusterCIDR: "10.42.0.0/16", network: { value: "cluster" } },
  },
  "dedicated servers": { robot: { enabled: true } },
  "no monitoring": { monitoring: { enabled: false } },
  monitoring: {
    monitoring: {
      podMonitor: { enabled: true, labels: { release: "prometheus" }, spec: { jobLabel: "app" } },
      prometheusRule: { enabled: true },
      dashboard: { enabled: true },
    },
  },
  "three replicas": { replicaCount: 3, networkPolicy: { enabled: true } },
  "state in a bucket": { state: { backend: "s3://bucket/lotse" }, env: { AWS_REGION: { value: "eu-central-1" } } },
  "the token in the environment": { env: { HCLOUD_TOKEN: fromSecret("other", "key") } },
  "everything else": {
    args: { v: 4, "cluster-name": "Prod_1", "leader-elect": null, "allow-untagged-cloud": "", "run-deadline": "1h" },
    image: { repository: "registry.test/lotse", tag: "v{{ .Chart.AppVersion }}", pullSecrets: [{ name: "registry" }] },
    loadBalancerClass: "hetzner.cloud/lotse",
    adoption: "labelled",
    tlsSecrets: { enabled: true, namespaces: ["kube-public", "default"] },
    nodeSelector: { "kubernetes.io/arch": "amd64" },
    affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
    additionalTolerations: [{ key: "dedicated", operator: "Exists" }],
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 0 } },
    podLabels: { team: "platform" },
    podAnnotations: { "example.com/a": "b" },
    extraVolumes: [{ name: "extra", emptyDir: {} }],
    extraVolumeMounts: [{ name: "extra", mountPath: "/extra" }],
    dnsPolicy: "ClusterFirst",
    dnsConfig: { nameservers: ["192.0.2.1"] },
    priorityClassName: "system-node-critical",
    selectorLabels: { "example.com/part": "ccm" },
    nameOverride: "pilot",
    serviceAccount: { annotations: { "example.com/c": "d" } },
    state: { parts: 10 },
    startupProbe: null,
    resources: { requests: { cpu: "1" } },
  },
};

/** Values of HCCM's chart: its defaults, and examples of its documentation. */
const HCCM_VALUES: ChartValues = {
  kind: "Deployment",
  replicaCount: 2,
  args: {
    "cloud-provider": "hcloud",
    "allow-untagged-cloud": "",
    "route-reconciliation-period": "30s",
    "webhook-secure-port": "0",
    "feature-gates": "CloudControllerManagerWatchBasedRoutesReconciliation=true",
  },
  env: {
    HCLOUD_TOKEN: fromSecret("hcloud", "token"),
    HCLOUD_LOAD_BALANCERS_LOCATION: { value: "fsn1" },
    HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: { value: "true" },
    HCLOUD_LOAD_BALANCERS_ENABLED: { value: "true" },
  },
  networking: { enabled: true, clusterCIDR: "10.244.0.0/16", network: fromSecret("hcloud", "network") },
  robot: { enabled: false },
  monitoring: {
    enabled: true,
    podMonitor: { enabled: true, labels: {}, annotations: {}, spec: { podMetricsEndpoints: [{ port: "metrics" }] } },
  },
  nameOverride: null,
  resources: { requests: { cpu: "100m", memory: "50Mi" } },
  selectorLabels: {
    "app.kubernetes.io/name": '{{ include "hcloud-cloud-controller-manager.name" $ }}',
    "app.kubernetes.io/instance": "{{ $.Release.Name }}",
  },
  additionalTolerations: [],
  nodeSelector: { "node-role.kubernetes.io/control-plane": "" },
  affinity: {},
  podLabels: {},
  podAnnotations: {},
  rbac: { create: true },
  priorityClassName: "system-cluster-critical",
};

const TOKEN = "t".repeat(64);
let cluster: Cluster;
let dir: string;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), "lotse-chart-"));
  await writeFile(join(dir, "token"), `${TOKEN}\n`);
  cluster = await startCluster();
});
afterAll(async () => {
  await cluster?.stop();
  await rm(dir, { recursive: true, force: true });
});

describe("the chart", () => {
  it("passes Helm's own checks", async () => {
    expect(await helm(["lint", "--strict", CHART])).toContain("0 chart(s) failed");
  });

  it("has the version of the program and of its image", async () => {
    const { version } = JSON.parse(await readFile("package.json", "utf8"));
    const chart = await readFile(join(CHART, "Chart.yaml"), "utf8");
    expect(chart).toMatch(new RegExp(`^version: ${version}$`, "m"));
    expect(chart).toMatch(new RegExp(`^appVersion: ${version}$`, "m"));
    expect(containerOf(await objectsOf({})).image).toMatch(new RegExp(`:v${version}$`));
  });

  it.each([
    ["a name", { replicas: 2 }, "'replicas' not allowed"],
    ["a name further down", { networking: { clusterCidr: "10.0.0.0/8" } }, "'clusterCidr' not allowed"],
    ["a kind", { kind: "StatefulSet" }, "/kind"],
    ["a type", { replicaCount: "2" }, "/replicaCount"],
    ["a state", { state: { backend: "bucket" } }, "/state/backend"],
    ["an environment", { env: { HCLOUD_TOKEN: "abc" } }, "/env/HCLOUD_TOKEN"],
    ["a flag with its dashes", { args: { "--v": "2" } }, "'--v' does not match pattern"],
  ])("rejects invalid %s", async (_, values, complaint) => {
    await expect(renderChart(values)).rejects.toThrow(complaint);
  });

  it("mounts the token as a file unless it is configured as a variable", async () => {
    const volumes = async (values: ChartValues) =>
      workloadOf(await objectsOf(values)).spec.template.spec?.volumes?.map(({ name }) => name);
    expect(await volumes({})).toEqual(["work", "token"]);
    expect(await volumes({ env: { HCLOUD_TOKEN: fromSecret("hcloud", "token") } })).toEqual(["work"]);
  });

  it("HCCM D1, D2: recreates a single replica, and updates several one by one", async () => {
    const strategy = async (values: ChartValues) => workloadOf(await objectsOf(values)).spec.strategy;
    expect(await strategy({})).toEqual({ type: "Recreate" });
    expect(await strategy({ replicaCount: 2 })).toEqual({
      type: "RollingUpdate",
      rollingUpdate: { maxSurge: 0, maxUnavailable: 1 },
    });
  });

  it("unlike HCCM D1: a DaemonSet has affinity, DNS and priority class, too", async () => {
    const affinity = { podAntiAffinity: {} };
    const { spec } = workloadOf(await objectsOf({ kind: "DaemonSet", affinity, dnsPolicy: "None" })).spec.template;
    expect(spec).toMatchObject({ affinity, dnsPolicy: "None", priorityClassName: "system-cluster-critical" });
  });

  it("HCCM D3: an empty value gives a bare flag, null removes it, numbers stay numbers", async () => {
    const { args } = containerOf(
      await objectsOf({ args: { bare: "", v: 4, "kube-api-burst": 1_000_000, "cloud-provider": null, state: null } }),
    );
    expect(args).toEqual(["run", "--bare", "--kube-api-burst=1000000", "--leader-elect=true", "--v=4"]);
  });

  it("HCCM D5: networking sets the network's name, the pod range and the host network", async () => {
    const objects = await objectsOf({ networking: { enabled: true } });
    expect(workloadOf(objects).spec.template.spec?.hostNetwork).toBe(true);
    expect(containerOf(objects).args).toContain("--cluster-cidr=10.244.0.0/16");
    expect(containerOf(objects).env).toContainEqual({ name: "HCLOUD_NETWORK", ...fromSecret("hcloud", "network") });
  });

  it("HCCM D12: tolerates the taints of uninitialised nodes", async () => {
    const { tolerations } = workloadOf(await objectsOf({ networking: { enabled: true } })).spec.template.spec ?? {};
    const tolerated = tolerations?.map(({ key, effect }) => `${key}:${effect ?? ""}`);
    expect(tolerated).toEqual(
      expect.arrayContaining([
        "node.cloudprovider.kubernetes.io/uninitialized:NoSchedule",
        "node-role.kubernetes.io/control-plane:NoSchedule",
        "node.kubernetes.io/not-ready:NoExecute",
        "node.kubernetes.io/network-unavailable:NoSchedule",
        "CriticalAddonsOnly:",
      ]),
    );
  });

  it("uses the same names for the Secrets of the state as the program", async () => {
    const objects = await objectsOf({ args: { "cluster-name": "Prod_1" }, state: { parts: 2 } });
    const names = objects.flatMap(({ rules = [] }) => rules.flatMap(({ resourceNames = [] }) => resourceNames));
    expect(names).toEqual(expect.arrayContaining(["lotse-state-prod-1", "lotse-state-prod-1-1"]));
  });

  it.each([
    ["a number", 12_345_678],
    ["text", "12345678"],
  ])("uses a cluster name that is %s as text", async (_, given) => {
    const objects = await objectsOf({ args: { "cluster-name": given } });
    const names = objects.flatMap(({ rules = [] }) => rules.flatMap(({ resourceNames = [] }) => resourceNames));
    expect(names).toEqual(expect.arrayContaining(["lotse-state-12345678", "lotse-plan-12345678"]));
    expect(names.filter((it) => it.startsWith("lotse-") && !/-12345678(-\d)?$/.test(it))).toEqual([]);
    expect((await configOf(objects)).clusterName).toBe("12345678");
  });

  it.each([
    ["a number", 0],
    ["text", "0"],
  ])("has no HTTPS port and no probes with a --secure-port 0 that is %s", async (_, given) => {
    const objects = await objectsOf({ args: { "secure-port": given } });
    const { args, ports, ...container } = containerOf(objects);
    expect(args).toContain("--secure-port=0");
    expect(ports?.map(({ name }) => name)).toEqual(["metrics"]);
    expect(Object.keys(container).filter((field) => field.endsWith("Probe"))).toEqual([]);
    expect(objects.flatMap(({ rules = [] }) => rules.flatMap(({ resources }) => resources))).not.toContain(
      "tokenreviews",
    );
  });

  it.each([
    ["a number", 10_999],
    ["text", "10999"],
  ])("probes the --secure-port that is %s", async (_, given) => {
    const { ports, livenessProbe } = containerOf(await objectsOf({ args: { "secure-port": given } }));
    expect(ports).toContainEqual({ name: "health", containerPort: 10_999 });
    expect(livenessProbe?.httpGet?.port).toBe("health");
  });

  it.each([
    ["the default Lease", {}, "cloud-controller-manager"],
    ["another Lease", { "leader-elect-resource-name": "pilot" }, "pilot"],
    ["a Lease of digits", { "leader-elect-resource-name": 12_345_678 }, "12345678"],
    ["no leader election", { "leader-elect": false, "leader-elect-resource-name": "pilot" }, ""],
    ["no leader election, abbreviated", { "leader-elect": "f" }, ""],
    ["no leader election, as a number", { "leader-elect": 0 }, ""],
  ])("has alerts, a dashboard and rights for %s", async (_, args, lease) => {
    const { monitoring } = SETS.monitoring ?? {};
    const objects = await objectsOf({ args, monitoring }, { apis: MONITORING_APIS });
    expect((await configOf(objects)).lease?.name ?? "").toBe(lease);
    const textOf = (kind: string) => JSON.stringify(objects.filter((it) => it.kind === kind)).replaceAll("\\", "");
    const series = (text: string) => text.match(/leader_election_master_status.*?\}/g);
    const rules = textOf("PrometheusRule");
    const expected = `leader_election_master_status{name="${lease}"}`;
    expect(series(rules)).toEqual([expected, expected]);
    expect(series(textOf("ConfigMap"))).toEqual([expected]);
    expect(rules).toContain("absent(lotse_build_info)");
    const leases = objects
      .flatMap(({ rules: found = [] }) => found)
      .filter(({ resources }) => resources.includes("leases"));
    expect(leases.flatMap(({ resourceNames = [] }) => resourceNames)).toEqual(lease === "" ? [] : [lease]);
  });

  it("grants no wildcards, and no access to all Secrets", async () => {
    const rules = (await objectsOf({ replicaCount: 2 })).flatMap(({ rules: found = [] }) => found);
    expect(rules.length).toBeGreaterThan(5);
    for (const { apiGroups, resources, verbs, resourceNames } of rules) {
      expect([...apiGroups, ...resources, ...verbs]).not.toContain("*");
      if (resources.includes("secrets") && resourceNames === undefined) expect(verbs).toEqual(["create"]);
    }
  });
});

describe.each(Object.entries(SETS))("%s", (name, values) => {
  const namespace = `set-${Object.keys(SETS).indexOf(name)}`;
  let objects: readonly Rendered[];
  beforeAll(async () => {
    objects = await objectsOf(values, { namespace, apis: MONITORING_APIS });
  });

  it("is accepted by the API server with strict validation", async () => {
    await kubectl(["create", "namespace", namespace]);
    const strict = ["apply", "--server-side", "--validate=strict", "--force-conflicts", "--filename=-"];
    const manifest = objects.map((object) => stringify(object)).join("---\n");
    if (name === "monitoring") {
      expect(await kubectl(["apply", "--filename=-"], MONITORING_CRDS)).not.toContain("error");
      // The API server serves new kinds a moment later.
      await eventually(() => kubectl(["get", "podmonitors,prometheusrules", "--all-namespaces"]));
    }
    await kubectl([...strict, "--dry-run=server"], manifest);
    const applied = await kubectl([...strict, "--output=name"], manifest);
    expect(applied.trim().split("\n")).toHaveLength(objects.length);
  });

  it("selects its own pods with every selector", () => {
    const labels = workloadOf(objects).spec.template.metadata?.labels ?? {};
    const selectors = objects.flatMap(({ spec }) => [spec?.selector ?? spec?.podSelector ?? []].flat());
    expect(selectors.length).toBeGreaterThan(0);
    for (const { matchLabels } of selectors) expect(labels).toMatchObject(matchLabels);
  });

  it("grants rights to its own service account only", () => {
    const account = workloadOf(objects).spec.template.spec?.serviceAccountName;
    const subjects = objects.flatMap((object) => object.subjects ?? []);
    expect(subjects.length).toBeGreaterThan(0);
    for (const subject of subjects) expect(subject).toEqual({ kind: "ServiceAccount", name: account, namespace });
  });

  it("has a command line that the program accepts without warnings", async () => {
    const { clusterName, state } = await configOf(objects);
    expect(clusterName).toBe(name === "everything else" ? "Prod_1" : "kubernetes");
    expect(state).toBe(name === "state in a bucket" ? "s3://bucket/lotse" : "cluster");
  });

  it("creates pods that meet the restricted Pod Security Standard, except for the host network", async () => {
    const { spec, metadata } = workloadOf(objects).spec.template;
    const profile = spec?.hostNetwork ? "privileged" : "restricted";
    await kubectl(["label", "namespace", namespace, `pod-security.kubernetes.io/enforce=${profile}`]);
    const pod = { apiVersion: "v1", kind: "Pod", metadata: { ...metadata, name: "pod", namespace }, spec };
    const create = (given: object) => kubectl(["create", "--dry-run=server", "--filename=-"], stringify(given));
    // The standard applies a moment after the label is set. Until then any pod would be accepted.
    const privileged = { ...pod, spec: { ...spec, hostPID: true } };
    if (profile === "restricted")
      await eventually(() => expect(create(privileged)).rejects.toThrow("violates PodSecurity"));
    expect(await create(pod)).toContain("pod/pod created");
  });
});

describe("the plain manifests", () => {
  it("match the chart", async () => {
    expect((await staleManifests()).map(({ file }) => file.pathname)).toEqual([]);
  });

  it.each(MANIFESTS)("HCCM D14: $summary: one label selects the pods", async ({ file }) => {
    const objects = parseObjects(await readFile(file, "utf8"));
    expect(workloadOf(objects).spec.selector.matchLabels).toEqual({ app: "lotse" });
    for (const { metadata } of objects) expect(metadata.namespace ?? "kube-system").toBe("kube-system");
    expect((await configOf(objects)).clusterCidrs).toEqual(
      file.pathname.endsWith("lotse-networks.yaml") ? ["10.244.0.0/16"] : [],
    );
  });
});

describe("values of HCCM's chart", () => {
  it("work unchanged", async () => {
    const config = await configOf(await objectsOf(HCCM_VALUES, { release: "hccm" }));
    expect(config).toMatchObject({
      token: TOKEN,
      network: "cluster",
      clusterCidrs: ["10.244.0.0/16"],
      loadBalancers: true,
      serviceDefaults: { location: "fsn1", usePrivateIp: true },
    });
  });

  it.each([
    [
      "another Secret with the token",
      { env: { HCLOUD_TOKEN: ofSecret({ name: "own" }) } },
      { name: "HCLOUD_TOKEN", ...fromSecret("own", "token") },
    ],
    [
      "another Secret with Robot's credentials",
      { robot: { enabled: true }, env: { ROBOT_USER: ofSecret({ name: "robot" }) } },
      { name: "ROBOT_USER", ...ofSecret({ name: "robot", key: "robot-user", optional: true }) },
    ],
    [
      "another key with the network",
      { networking: { enabled: true, network: ofSecret({ key: "other" }) } },
      { name: "HCLOUD_NETWORK", ...fromSecret("hcloud", "other") },
    ],
    [
      "a value in place of the Secret",
      { networking: { enabled: true, network: { value: "cluster", valueFrom: null } } },
      { name: "HCLOUD_NETWORK", value: "cluster" },
    ],
    ["a template", { env: { A: { value: "{{ .Release.Name }}" } } }, { name: "A", value: "lotse" }],
  ])("HCCM D4, D5: may name %s", async (_, values, variable) => {
    expect(containerOf(await objectsOf(values)).env).toContainEqual(variable);
  });

  it("HCCM D7: annotations of the PodMonitor are texts", async () => {
    const podMonitor = { enabled: true, annotations: { a: true, b: 1, c: "{{ $labels.pod }}" } };
    const objects = await objectsOf({ monitoring: { podMonitor } }, { apis: MONITORING_APIS });
    const { annotations } = objects.find(({ kind }) => kind === "PodMonitor")?.metadata ?? {};
    expect(annotations).toEqual({ a: "true", b: "1", c: "{{ $labels.pod }}" });
  });
});

describe("helm", () => {
  it("installs, upgrades, rolls back and uninstalls a release", async () => {
    const to = ["--namespace=kube-system", `--kubeconfig=${cluster.kubeconfig}`];
    const chart = ["lotse", CHART, ...to, "--set=nameOverride=released"];
    const left = async () => {
      const kinds = "deployment,serviceaccount,role,rolebinding,poddisruptionbudget,clusterrole,clusterrolebinding";
      const found = ["get", kinds, "--namespace=kube-system", "--selector=app.kubernetes.io/name=released"];
      return (await kubectl([...found, "--output=name"])).trim().split("\n");
    };
    await helm(["install", ...chart, "--set=networking.enabled=true"]);
    expect(await left()).toEqual(expect.arrayContaining(["deployment.apps/released", "serviceaccount/released"]));
    await helm(["upgrade", ...chart, "--set=replicaCount=2"]);
    expect(await left()).toContain("poddisruptionbudget.policy/released");
    const image = async () =>
      (await kubectl(["get", "deployment/released", ...to.slice(0, 1), "--output=jsonpath={..image}"])).trim();
    const before = await image();
    const digest = "0123456789abcdef".repeat(4);
    const page = await readFile("docs/how-to/operations.md", "utf8");
    const lines = shellLines(sectionOf(page, "Upgrade and roll back")).filter((line) => line.startsWith("helm "));
    expect(lines.map((line) => line.split(" ")[1])).toEqual(["upgrade", "history", "rollback"]);
    for (const line of lines) {
      const [, ...args] = line.replace("…", digest).split(" ");
      expect(await helm([...args, `--kubeconfig=${cluster.kubeconfig}`])).not.toContain("Error");
      if (args[0] === "upgrade") expect(await image()).toMatch(new RegExp(`^[^@]+/lotse:v[\\d.]+@sha256:${digest}$`));
    }
    expect(await image()).toBe(before);
    expect(await left()).toContain("poddisruptionbudget.policy/released");
    await helm(["uninstall", "lotse", ...to]);
    expect(await left()).toEqual([""]);
  });
});

function fromSecret(name: string, key: string) {
  return ofSecret({ name, key });
}

/** A part of a reference, for which the chart has the rest. */
function ofSecret(secretKeyRef: { readonly name?: string; readonly key?: string; readonly optional?: boolean }) {
  return { valueFrom: { secretKeyRef } };
}

/** The configuration of the program in the container. */
async function configOf(objects: readonly Rendered[]): Promise<Config> {
  const { args = [], env = [] } = containerOf(objects);
  const mounted = env.map(
    (variable): V1EnvVar =>
      variable.value === "/etc/hcloud/token" ? { ...variable, value: join(dir, "token") } : variable,
  );
  const resolve = ({ name, valueFrom }: V1EnvVar) =>
    valueFrom?.fieldRef
      ? "kube-system"
      : name === "HCLOUD_TOKEN"
        ? TOKEN
        : valueFrom?.secretKeyRef?.optional
          ? undefined
          : "cluster";
  return loadConfig(await flagsOf(args), environmentOf(mounted, resolve));
}

function kubectl(args: readonly string[], input?: string): Promise<string> {
  return runKubectl(cluster.kubeconfig, args, input);
}

/** Substitutes for the CRDs of the Prometheus operator, which accept anything. */
const MONITORING_CRDS = [
  ["PodMonitor", "podmonitors"],
  ["PrometheusRule", "prometheusrules"],
]
  .map(([kind, plural]) =>
    stringify({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: `${plural}.monitoring.coreos.com` },
      spec: {
        group: "monitoring.coreos.com",
        scope: "Namespaced",
        names: { kind, plural, singular: kind?.toLowerCase() },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } },
          },
        ],
      },
    }),
  )
  .join("---\n");
