/** The second stack of an environment: what runs in the cluster. It needs the first one's machines, and their kubeconfig. */
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";
import { POD_CIDR } from "./layout.ts";

/** What the stack is made from: finished data, nothing is looked up. */
export interface ClusterSpec {
  /** Path of the kubeconfig, not its text: credentials have no place in a state. */
  readonly kubeconfig: string;
  /** For the controller in the cluster; encrypted in the state. */
  readonly token: string;
  readonly networkId: string;
  /** Folder of the controller's chart. */
  readonly chart: string;
  /** The controller's image; without one the chart is installed with no replica, and the controller runs elsewhere. */
  readonly image?: { readonly repository: string; readonly tag: string };
  /** Location of the ingress' balancer. */
  readonly location: string;
  /** Manifests of the demo application. */
  readonly demo: string;
}

/** Charts of others, pinned; what has been tried of them is in the README. */
const CHARTS = {
  cilium: { chart: "cilium", version: "1.18.3", repo: "https://helm.cilium.io" },
  traefik: { chart: "traefik", version: "37.3.0", repo: "https://traefik.github.io/charts" },
} as const;

const SYSTEM = "kube-system";
/** Images are pulled by machines that have just booted. */
const TIMEOUT_SECONDS = 600;

/** The program of the stack. */
export function clusterProgram(spec: ClusterSpec): () => Promise<void> {
  return async () => {
    const provider = new k8s.Provider("k3s", { kubeconfig: spec.kubeconfig });
    const secret = declareSecret(spec, { provider });
    const network = release("cilium", SYSTEM, CILIUM, { provider });
    const controller = declareController(spec, { provider, dependsOn: secret });
    // Nothing is scheduled before the controller has initialised nodes, and no pod gets an address before there is a network.
    const ready = { provider, dependsOn: [network, controller] };
    const ingress = release("traefik", "traefik", traefik(spec), ready);
    new k8s.yaml.v2.ConfigGroup("demo", { yaml: spec.demo }, { provider, dependsOn: ingress });
  };
}

function declareSecret({ token, networkId }: ClusterSpec, options: pulumi.CustomResourceOptions): k8s.core.v1.Secret {
  const metadata = { name: "hcloud", namespace: SYSTEM };
  return new k8s.core.v1.Secret(
    "hcloud",
    { metadata, stringData: { token: pulumi.secret(token), network: networkId } },
    options,
  );
}

/** Values of our chart. */
export function controllerValues({ image }: Pick<ClusterSpec, "image">) {
  return {
    replicaCount: image ? 1 : 0,
    ...(image && { image: { ...image, pullPolicy: "Always" } }),
    networking: { enabled: true, clusterCIDR: POD_CIDR },
  };
}

function declareController(spec: ClusterSpec, options: pulumi.CustomResourceOptions): k8s.helm.v3.Release {
  const where = { name: "lotse", chart: spec.chart, namespace: SYSTEM };
  const inputs = { ...where, values: controllerValues(spec), timeout: TIMEOUT_SECONDS };
  return new k8s.helm.v3.Release("lotse", inputs, options);
}

/**
 * Native routing: packets between pods leave as they are, and the routes that the controller makes lead them through the
 * network, whose packets are 50 bytes smaller than the internet's.
 */
const CILIUM = {
  routingMode: "native",
  ipv4NativeRoutingCIDR: POD_CIDR,
  ipam: { mode: "kubernetes" },
  operator: { replicas: 1 },
  MTU: 1450,
};

/** The firewall lets nobody in but SSH and the API server: the balancer comes over the private network. */
function traefik({ location }: ClusterSpec) {
  const annotations = {
    "load-balancer.hetzner.cloud/location": location,
    "load-balancer.hetzner.cloud/use-private-ip": "true",
  };
  // Ingresses get the balancer's address, and the engine waits until they have it.
  const kubernetesIngress = { publishedService: { enabled: true } };
  return { service: { annotations }, providers: { kubernetesIngress } };
}

function release(
  name: keyof typeof CHARTS,
  namespace: string,
  values: object,
  options: pulumi.CustomResourceOptions,
): k8s.helm.v3.Release {
  const { chart, version, repo } = CHARTS[name];
  const createNamespace = namespace !== SYSTEM;
  const where = { name, chart, version, namespace, createNamespace, repositoryOpts: { repo } };
  return new k8s.helm.v3.Release(name, { ...where, values, timeout: TIMEOUT_SECONDS }, options);
}
