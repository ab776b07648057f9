import * as pulumi from "@pulumi/pulumi";
import { afterEach, describe, expect, it } from "vitest";
import { type ClusterSpec, declareCluster } from "../../../../dev-env/k3s/cluster/declare.ts";

interface Declared {
  readonly type: string;
  readonly inputs: Readonly<Record<string, unknown>>;
  readonly dependencies: readonly string[];
  readonly provider: string;
}

/** A request as the engine's monitor gets it. */
interface Registration {
  getName(): string;
  getProvider(): string;
  getDependenciesList(): string[];
}

afterEach(() => pulumi.runtime.disconnectSync());

/** Runs the program against Pulumi's mocks and gives what it declared, by name. */
async function declared(spec: ClusterSpec): Promise<ReadonlyMap<string, Declared>> {
  const found = new Map<string, Declared>();
  const made = new Map<string, Pick<Declared, "type" | "inputs">>();
  await pulumi.runtime.setMocks(
    {
      newResource: ({ name, type, inputs }) => {
        made.set(name, { type, inputs });
        return { id: `${name}-id`, state: inputs };
      },
      call: ({ token }) => {
        throw new Error(`programs look nothing up, but this one called ${token}`);
      },
    },
    "lotse-dev-env",
    "dev-cluster",
  );
  const monitor = pulumi.runtime.getMonitor() as unknown as {
    registerResource: (request: Registration, callback: unknown) => Promise<void>;
  };
  const register = monitor.registerResource.bind(monitor);
  monitor.registerResource = async (request, callback) => {
    await register(request, callback);
    const name = request.getName();
    const { type = "", inputs = {} } = made.get(name) ?? {};
    const dependencies = request.getDependenciesList().map((urn) => urn.split("::").at(-1) ?? "");
    found.set(name, { type, inputs, dependencies: dependencies.toSorted(), provider: request.getProvider() });
  };
  declareCluster(spec);
  await pulumi.runtime.disconnect();
  return found;
}

const SPEC: ClusterSpec = {
  kubeconfig: "/somewhere/kubeconfig",
  token: "very-secret",
  networkId: "4711",
  pods: "10.244.0.0/16",
  chart: "/checkout/controller/deploy/chart",
  location: "hel1",
  demo: "apiVersion: v1\nkind: ConfigMap\n",
};

/** Mocks keep secrets in their wrapping. */
const SECRET = "4dabf18193072939515e22adb298388d";

describe("the cluster half of a development environment", () => {
  it("is a secret, a network, the controller, an ingress and a demo, in an order in which each finds what it needs", async () => {
    const found = await declared(SPEC);
    expect([...found.keys()].toSorted()).toEqual(["cilium", "demo", "hcloud", "k3s", "lotse", "traefik"]);
    const needs = Object.fromEntries([...found].map(([name, { dependencies }]) => [name, dependencies]));
    expect(needs).toEqual({
      k3s: [],
      hcloud: [],
      cilium: [],
      lotse: ["hcloud"],
      traefik: ["cilium", "lotse"],
      demo: ["traefik"],
    });
    for (const [name, { provider }] of found) if (name !== "k3s") expect(provider).toContain("::k3s::");
  });

  it("has the token in the secret that controllers for Hetzner look for, marked as one", async () => {
    const found = await declared(SPEC);
    const secret = found.get("hcloud")?.inputs;
    expect(secret).toMatchObject({ metadata: { name: "hcloud", namespace: "kube-system" } });
    expect(JSON.stringify(secret)).toContain("4711");
    expect(JSON.stringify(secret)).toContain(SECRET);
    for (const [name, { inputs }] of found) {
      if (name !== "hcloud") expect(JSON.stringify(inputs)).not.toContain("very-secret");
    }
  });

  it("gives the provider the path of the kubeconfig, not what is in it", async () => {
    expect((await declared(SPEC)).get("k3s")?.inputs).toMatchObject({ kubeconfig: "/somewhere/kubeconfig" });
  });

  it("has Cilium route natively in the pod range, in a pinned version", async () => {
    expect((await declared(SPEC)).get("cilium")?.inputs).toMatchObject({
      chart: "cilium",
      version: "1.18.3",
      namespace: "kube-system",
      repositoryOpts: { repo: "https://helm.cilium.io" },
      values: {
        routingMode: "native",
        ipv4NativeRoutingCIDR: "10.244.0.0/16",
        ipam: { mode: "kubernetes" },
        operator: { replicas: 1 },
        MTU: 1450,
      },
    });
  });

  it("has the chart of this checkout with the image that was asked for", async () => {
    const image = { repository: "registry.example/lotse", tag: "dev" };
    expect((await declared({ ...SPEC, image })).get("lotse")?.inputs).toMatchObject({
      name: "lotse",
      chart: "/checkout/controller/deploy/chart",
      namespace: "kube-system",
      values: {
        replicaCount: 1,
        image: { ...image, pullPolicy: "Always" },
        networking: { enabled: true, clusterCIDR: "10.244.0.0/16" },
      },
    });
  });

  it("has the chart without a replica when there is no image: the controller runs elsewhere", async () => {
    const values = (await declared(SPEC)).get("lotse")?.inputs.values;
    expect(values).toEqual({ replicaCount: 0, networking: { enabled: true, clusterCIDR: "10.244.0.0/16" } });
  });

  it("has an ingress whose balancer comes over the private network, past the firewall", async () => {
    expect((await declared(SPEC)).get("traefik")?.inputs).toMatchObject({
      chart: "traefik",
      version: "37.3.0",
      namespace: "traefik",
      createNamespace: true,
      values: {
        service: {
          annotations: {
            "load-balancer.hetzner.cloud/location": "hel1",
            "load-balancer.hetzner.cloud/use-private-ip": "true",
          },
        },
        providers: { kubernetesIngress: { publishedService: { enabled: true } } },
      },
    });
  });

  it("has the demo that it was given", async () => {
    expect((await declared(SPEC)).get("demo")?.inputs).toMatchObject({ yaml: SPEC.demo });
  });
});
