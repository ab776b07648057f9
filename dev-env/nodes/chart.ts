/** Installs the controller in a world, from its chart. */
import { stringify } from "yaml";
import { CHART, type ChartValues, helm } from "../chart/render.ts";
import { IMAGES } from "./images/images.ts";
import type { World } from "./world.ts";

const NAMESPACE = "kube-system";

/** Values for this world: the image of this checkout, two replicas, the private network, and the simulated cloud. */
function chartValues({ cloud }: World): ChartValues {
  return {
    replicaCount: 2,
    image: IMAGES.lotse,
    networking: { enabled: true },
    env: { HCLOUD_ENDPOINT: { value: cloud.url } },
  };
}

/** Creates or upgrades the release `lotse`, and returns without waiting for its pods. `more` overrides the values. */
export async function installChart(world: World, more: ChartValues = {}): Promise<void> {
  const { cloud, cluster } = world;
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "hcloud", namespace: NAMESPACE } };
  await world.apply({ ...secret, stringData: { token: cloud.token, network: "cluster" } });
  const values = stringify({ ...chartValues(world), ...more });
  const where = ["--namespace", NAMESPACE, "--kubeconfig", cluster.kubeconfig];
  await helm(["upgrade", "--install", "lotse", CHART, ...where, "--values", "-"], values);
}

/** Removes the release, and waits until its pods are gone. */
export async function uninstallChart({ cluster, kubectl }: World): Promise<void> {
  await helm(["uninstall", "lotse", "--namespace", NAMESPACE, "--kubeconfig", cluster.kubeconfig]);
  const pods = ["pods", "--selector=app.kubernetes.io/name=lotse", "--namespace", NAMESPACE];
  await kubectl("wait", ...pods, "--for=delete", "--timeout=90s");
}
