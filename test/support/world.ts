/** A simulated cloud, a cluster with nodes, and controllers: everything an integration test needs. */
import { readFile } from "node:fs/promises";
import {
  CoreV1Api,
  type CoreV1Event,
  KubeConfig,
  KubernetesObjectApi,
  loadAllYaml,
  type V1Service,
} from "@kubernetes/client-node";
import { KubeClient } from "../../controller/kube/client.ts";
import { loadAccess } from "../../controller/kube/kubeconfig.ts";
import { EVENTS } from "../../controller/publish/events.ts";
import { renderChart } from "../../dev-env/chart/render.ts";
import { type Cloud, type CloudOptions, startCloud } from "../../dev-env/cloud/cloud.ts";
import { type Cluster, connect, type NodeOptions, type SimNode, startCluster } from "../../dev-env/cluster/cluster.ts";
import { Pods } from "../../dev-env/demo/pods.ts";
import { ensureToolchain } from "../../dev-env/toolchain/toolchain.ts";
import { prefixed } from "./builders.ts";
import { changeCloud } from "./change-cloud.ts";
import { ControllerProcess } from "./controller-process.ts";

export interface WorldOptions {
  readonly nodes?: number;
  readonly cloud?: CloudOptions;
  /** Whether to log the controller's requests to the API server: see `requests`. */
  readonly isAudited?: boolean;
  /** Whether the controller may read TLS Secrets. */
  readonly tlsSecrets?: boolean;
  /** Whether to shorten waits to a third: see `ControllerOptions`. */
  readonly isQuick?: boolean;
  /** Whether controllers run the compiled program: see `ControllerOptions`. */
  readonly isBuilt?: boolean;
}

const MANIFEST = new URL("../../controller/deploy/manifests/lotse.yaml", import.meta.url);
/** Variables for a controller outside a pod. */
const RIGHTS: ReadonlySet<unknown> = new Set([
  "ClusterRole",
  "ClusterRoleBinding",
  "Role",
  "RoleBinding",
  "ValidatingAdmissionPolicy",
  "ValidatingAdmissionPolicyBinding",
]);
/** Components in whose names the controller writes Events. */
const COMPONENTS: ReadonlySet<string> = new Set(Object.values(EVENTS).map(({ component }) => component));
/** The identity of the controller in a cluster. */
export const IDENTITY = { name: "system:serviceaccount:kube-system:lotse" };

export class World implements AsyncDisposable {
  readonly cloud: Cloud;
  readonly cluster: Cluster;
  readonly core: CoreV1Api;
  /** For polling: reuses its connection, unlike the generated client. */
  readonly observer: KubeClient;
  readonly networkId: number;
  /** Whether the world is being stopped. */
  isEnding = false;
  /** A kubeconfig with the rights of the controller in a cluster. */
  readonly kubeconfig: string;
  readonly isQuick: boolean;
  readonly #isBuilt: boolean;
  readonly #controllers = new Set<ControllerProcess>();
  readonly #pods = new Set<Pods>();

  constructor(
    cloud: Cloud,
    cluster: Cluster,
    networkId: number,
    access: { kubeconfig: string; observer: KubeClient; isQuick: boolean; isBuilt: boolean },
  ) {
    this.isQuick = access.isQuick;
    this.#isBuilt = access.isBuilt;
    this.cloud = cloud;
    this.observer = access.observer;
    this.cluster = cluster;
    this.networkId = networkId;
    this.core = connect(cluster.kubeconfig, CoreV1Api);
    this.kubeconfig = access.kubeconfig;
  }

  /**
   * Starts the controller with the rights it has in a cluster. It detects drift within two seconds. Undefined variables
   * are removed from its environment.
   */
  startController(
    flags: readonly string[] = [],
    env: Readonly<Record<string, string | undefined>> = {},
  ): ControllerProcess {
    const controller = new ControllerProcess({
      isQuick: this.isQuick,
      isBuilt: this.#isBuilt,
      flags: [
        "--kubeconfig",
        this.kubeconfig,
        "--cluster-cidr=10.244.0.0/16",
        "--leader-elect=false",
        "--secure-port=0",
        "--resync=2s",
        ...flags,
      ],
      env: {
        HCLOUD_TOKEN: this.cloud.token,
        HCLOUD_ENDPOINT: this.cloud.url,
        HCLOUD_NETWORK: String(this.networkId),
        // There is no metadata service, and several controllers share the ports of the machine.
        HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: "true",
        HCLOUD_METRICS_ENABLED: "false",
        // Leftovers of a killed controller are deleted with the cluster's folder.
        TMPDIR: this.cluster.dir,
        ...env,
      },
    });
    this.#controllers.add(controller);
    return controller;
  }

  /** A kubeconfig for one of several controllers. The audit log has its name among the groups of its requests. */
  kubeconfigOf(replica: string): Promise<string> {
    return this.cluster.kubeconfigFor({ ...IDENTITY, groups: [replica] });
  }

  /** Adds a server to the cloud and registers it as a node, with the pod range 10.244.`index`.0/24. */
  addNode(index: number, given: Partial<NodeOptions> = {}): Promise<SimNode> {
    const server = this.cloud.addServer({ name: `node-${index}`, network: this.networkId });
    const nodeIp = server.private_net[0]?.ip;
    return this.cluster.registerNode({
      name: server.name,
      podCidrs: [`10.244.${index}.0/24`],
      ...(nodeIp && { nodeIp }),
      ...given,
    });
  }

  /** Makes all current nodes answer on the node ports of all Services. Requires a data plane. */
  startPods(): Pods {
    const machines = this.cloud.state.servers.values().flatMap(({ id, name }) => {
      const address = this.cloud.backendOf(id);
      return address ? [{ name, address }] : [];
    });
    const pods = new Pods(this.cluster.kubeconfig, machines);
    this.#pods.add(pods);
    pods.start();
    return pods;
  }

  /** Changes the cloud directly, without the controller. */
  async changeCloud(method: "POST" | "PUT" | "DELETE", path: string, body?: object): Promise<void> {
    await changeCloud(this.cloud, method, path, body);
  }

  /** Creates a Service of type LoadBalancer. Annotations omit the prefix. */
  createService(
    name: string,
    annotations: Readonly<Record<string, string>> = {},
    ports: readonly number[] = [80],
  ): Promise<V1Service> {
    return this.core.createNamespacedService({
      namespace: "default",
      body: {
        metadata: { name, annotations: prefixed({ location: "fsn1", ...annotations }) },
        spec: { type: "LoadBalancer", ports: ports.map((port) => ({ name: `p${port}`, port })) },
      },
    });
  }

  /** The controller's Events. The API server writes some about Services too, when it repairs its list of cluster IPs. */
  async events(): Promise<readonly CoreV1Event[]> {
    const { items } = await this.core.listEventForAllNamespaces();
    return items.filter(({ source }) => COMPONENTS.has(source?.component ?? ""));
  }

  /** Reasons and messages of the controller's Events about one object. */
  async eventsAbout(name: string): Promise<readonly string[]> {
    return (await this.events())
      .filter((event) => event.involvedObject.name === name)
      .map(({ reason, message }) => `${reason}: ${message}`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.isEnding = true;
    await Promise.all([...this.#controllers, ...this.#pods].map((started) => started.stop()));
    this.observer.close();
    await Promise.all([this.cluster.stop(), this.cloud.stop()]);
  }
}

/** Starts everything except the controller. */
export async function startWorld(given: WorldOptions = {}): Promise<World> {
  const { nodes = 3, cloud: options = {}, isAudited = false, tlsSecrets = false } = given;
  const { isQuick = false, isBuilt = false } = given;
  await ensureToolchain(["pulumi", "pulumi-resource-hcloud"]);
  await using started = new AsyncDisposableStack();
  const cloud = started.adopt(await startCloud(options), (it) => it.stop());
  const audit = isAudited ? { auditedUser: IDENTITY.name } : {};
  const cluster = started.adopt(await startCluster(audit), (it) => it.stop());
  const network = cloud.addNetwork({ name: "cluster" });
  const manifest = tlsSecrets ? renderChart({ tlsSecrets: { enabled: true } }) : readFile(MANIFEST, "utf8");
  await grantRights(cluster, await manifest);
  const observer = new KubeClient(await loadAccess(cluster.kubeconfig));
  started.defer(() => observer.close());
  const kubeconfig = await cluster.kubeconfigFor(IDENTITY);
  const world = new World(cloud, cluster, network.id, { kubeconfig, observer, isQuick, isBuilt });
  await Promise.all(Array.from({ length: nodes }, (_, index) => world.addNode(index + 1)));
  started.move();
  return world;
}

/** Creates the roles, bindings and admission policies of a manifest. */
export async function grantRights(cluster: Cluster, manifest: string): Promise<void> {
  const config = new KubeConfig();
  config.loadFromFile(cluster.kubeconfig);
  const objects = KubernetesObjectApi.makeApiClient(config);
  for (const object of loadAllYaml(manifest).filter(({ kind }) => RIGHTS.has(kind))) await objects.create(object);
}
