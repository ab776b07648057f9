/** Declares what runs in an environment's cluster: Cilium, the controller, Traefik, and a demo behind an Ingress. */
import * as k8s from "@pulumi/kubernetes";
import * as pulumi from "@pulumi/pulumi";

/** What the program declares, as plain data: it performs no lookups. */
export interface ClusterSpec {
  /** Path of the kubeconfig, not its text: a state should contain no credentials. */
  readonly kubeconfig: string;
  /** API token of the controller in the cluster; encrypted in the state. */
  readonly token: string;
  readonly networkId: string;
  /** Addresses of pods. */
  readonly pods: string;
  /** Folder of the controller's chart. */
  readonly chart: string;
  /** The controller's image. Without one the chart has no replica, and the controller runs elsewhere. */
  readonly image?: { readonly repository: string; readonly tag: string };
  /** Location of the ingress's load balancer. */
  readonly location: string;
  /** Manifests of the demo application. */
  readonly demo: string;
}

/** Third-party charts, pinned. */
const CILIUM = { chart: "cilium", version: "1.18.3", repositoryOpts: { repo: "https://helm.cilium.io" } };
const TRAEFIK = { chart: "traefik", version: "37.3.0", repositoryOpts: { repo: "https://traefik.github.io/charts" } };

const SYSTEM = "kube-system";
/** Machines that have just booted have no images yet. */
const TIMEOUT_SECONDS = 600;

/** Declares everything. */
export function declareCluster(spec: ClusterSpec): void {
  const provider = new k8s.Provider("k3s", { kubeconfig: spec.kubeconfig });
  const release = (name: string, args: k8s.helm.v3.ReleaseArgs, dependsOn: pulumi.Resource[]) =>
    new k8s.helm.v3.Release(name, { name, timeout: TIMEOUT_SECONDS, ...args }, { provider, dependsOn });
  const metadata = { name: "hcloud", namespace: SYSTEM };
  const stringData = { token: pulumi.secret(spec.token), network: spec.networkId };
  const secret = new k8s.core.v1.Secret("hcloud", { metadata, stringData }, { provider });
  const network = release("cilium", { ...CILIUM, namespace: SYSTEM, values: ciliumValues(spec) }, []);
  const chart = { chart: spec.chart, namespace: SYSTEM, values: controllerValues(spec) };
  const controller = release("lotse", chart, [secret]);
  const place = { namespace: "traefik", createNamespace: true };
  // Pods need an initialised node, hence the controller, and an address, hence the network.
  const ingress = release("traefik", { ...TRAEFIK, ...place, values: traefikValues(spec) }, [network, controller]);
  new k8s.yaml.v2.ConfigGroup("demo", { yaml: spec.demo }, { provider, dependsOn: ingress });
}

/** Values of our chart. */
export function controllerValues({ image, pods }: Pick<ClusterSpec, "image" | "pods">) {
  return {
    replicaCount: image ? 1 : 0,
    ...(image && { image: { ...image, pullPolicy: "Always" } }),
    networking: { enabled: true, clusterCIDR: pods },
  };
}

/**
 * Native routing: packets between pods are not encapsulated. The controller's routes lead them through the network,
 * whose packets are 50 bytes smaller than the internet's.
 */
function ciliumValues({ pods }: ClusterSpec) {
  return {
    routingMode: "native",
    ipv4NativeRoutingCIDR: pods,
    ipam: { mode: "kubernetes" },
    operator: { replicas: 1 },
    MTU: 1450,
  };
}

/** The firewall admits SSH and the API server only, so the load balancer uses the private network. */
function traefikValues({ location }: ClusterSpec) {
  const annotations = {
    "load-balancer.hetzner.cloud/location": location,
    "load-balancer.hetzner.cloud/use-private-ip": "true",
  };
  // Ingresses get the load balancer's address, and the engine waits for it.
  const kubernetesIngress = { publishedService: { enabled: true } };
  return { service: { annotations }, providers: { kubernetesIngress } };
}
