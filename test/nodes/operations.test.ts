/** What users notice of an upgrade, a drained node, a leader that loses power or its network, and an uninstallation. */
import { fileURLToPath } from "node:url";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installChart, uninstallChart } from "../../dev-env/nodes/chart.ts";
import { POD_RANGE } from "../../dev-env/nodes/network/addresses.ts";
import type { World } from "../../dev-env/nodes/world.ts";
import { run } from "../../dev-env/toolchain/run.ts";
import { changeCloud } from "../support/change-cloud.ts";
import { eventually } from "../support/eventually.ts";
import { aBalanced, anEcho, fetchAsClient, startRealWorld, Traffic } from "../support/real-world.ts";

const SYSTEM = "--namespace=kube-system";
const PATIENCE = { timeoutMs: 90_000 };
/** kube-controller-manager waits five minutes by default until it replaces pods of a node that is gone. */
const IMPATIENT = {
  tolerations: ["not-ready", "unreachable"].map((what) => ({
    key: `node.kubernetes.io/${what}`,
    operator: "Exists",
    effect: "NoExecute",
    tolerationSeconds: 2,
  })),
};
const args = { resync: "10s" };
const SHUTDOWN = "node.cloudprovider.kubernetes.io/shutdown";
/** EndpointSlices and kube-proxy follow a Node that is NotReady within this time, also on a busy machine. */
const RECOVERY_MS = 5_000;
/** Drops all packets of a machine, except those between its own processes and pods. */
const CUT = `table inet cut {
  chain in { type filter hook prerouting priority -400; iifname { "eth0", "enp7s0" } drop; }
  chain out { type filter hook postrouting priority 400; oifname { "eth0", "enp7s0" } drop; }
}`;
const LOTSE = fileURLToPath(new URL("../../controller/main.ts", import.meta.url));

let world: World;
let url: string;
beforeAll(async () => {
  world = await startRealWorld();
  await world.apply(anEcho("Deployment", "web", IMPATIENT), aBalanced("web", "web", { name: "web" }));
  await installChart(world, { args });
  url = await eventually(() => addressOf("web"), PATIENCE);
  await eventually(() => fetchAsClient(url), PATIENCE);
  await world.kubectl("rollout", "status", "deployment/web", "--timeout=60s");
  await world.kubectl("rollout", "status", "deployment/lotse", SYSTEM, "--timeout=60s");
  await eventually(() => expect(healthOf("web")).toEqual(["healthy", "healthy", "healthy"]), PATIENCE);
});
afterAll(() => world?.[Symbol.asyncDispose]());

function addressOf(name: string): string {
  const balancer = world.cloud.state.loadBalancers.find(name);
  if (!balancer) throw new Error(`no load balancer ${name}`);
  return `http://${balancer.public_net.ipv4.ip}/`;
}
const healthOf = (name: string) =>
  world.cloud.state.loadBalancers
    .find(name)
    ?.targets.map((target) => (target.type === "server" ? target.health_status[0]?.status : undefined));
/** The replica that holds the lease: the name of its node, and a random part. */
const leader = () =>
  world.kubectl("get", "lease", "cloud-controller-manager", SYSTEM, "--output=jsonpath={.spec.holderIdentity}");
const newLeader = (before: string) =>
  eventually(async () => {
    const now = await leader();
    expect(now).not.toBe("");
    expect(now).not.toBe(before);
    return now;
  }, PATIENCE);

const isReady = (node: string, status: "True" | "Unknown") =>
  eventually(async () => {
    const query = '--output=jsonpath={.status.conditions[?(@.type=="Ready")].status}';
    expect(await world.kubectl("get", "node", node, query)).toBe(status);
  }, PATIENCE);
const taintsOf = (node: string) => world.kubectl("get", "node", node, "--output=jsonpath={.spec.taints[*].key}");
/** Endpoints on a node are removed, and load balancers stop using it, a moment after it is NotReady at the latest. */
const expectRecovered = async (traffic: Traffic, notReadyMs: number) => {
  await eventually(() => expect(traffic.nowMs).toBeGreaterThan(notReadyMs + 2 * RECOVERY_MS));
  const { sent, failures } = await traffic.stop();
  process.stdout.write(`${failures.length} of ${sent} requests failed; NotReady after ${Math.round(notReadyMs)} ms\n`);
  expect(failures.filter(({ atMs }) => atMs > notReadyMs + RECOVERY_MS)).toEqual([]);
};

describe("under constant traffic", () => {
  it("a rolling upgrade of the controller loses no request", async () => {
    const before = await leader();
    const traffic = new Traffic(url);
    await installChart(world, { args, podAnnotations: { upgraded: "true" } });
    await world.kubectl("rollout", "status", "deployment/lotse", SYSTEM, "--timeout=110s");
    await newLeader(before);
    const { sent, failures } = await traffic.stop();
    expect(failures).toEqual([]);
    expect(sent).toBeGreaterThan(50);
  });

  it("draining a node loses no request", async () => {
    const traffic = new Traffic(url);
    await world.kubectl("drain", "node-1", "--ignore-daemonsets", "--delete-emptydir-data", "--timeout=60s");
    await world.kubectl("uncordon", "node-1");
    await world.kubectl("rollout", "status", "deployment/web", "--timeout=60s");
    expect((await traffic.stop()).failures).toEqual([]);
  });

  it("a leader's server that loses power loses requests to its pods only, until its Node is NotReady", async () => {
    await world.kubectl("rollout", "status", "deployment/lotse", SYSTEM, "--timeout=60s");
    const before = await leader();
    const [node = ""] = before.split("_");
    const traffic = new Traffic(url);
    await changeCloud(world.cloud, "POST", `/servers/${world.cloud.state.servers.find(node)?.id}/actions/poweroff`);
    await isReady(node, "Unknown");
    const notReadyMs = traffic.nowMs;
    await newLeader(before);
    await eventually(async () => expect(await taintsOf(node)).toContain(SHUTDOWN));
    await expectRecovered(traffic, notReadyMs);
    await changeCloud(world.cloud, "POST", `/servers/${world.cloud.state.servers.find(node)?.id}/actions/poweron`);
    await isReady(node, "True");
    await eventually(async () => expect(await taintsOf(node)).not.toContain(SHUTDOWN));
  });

  it("a leader's server that loses its network is replaced as leader, and keeps its Node", async () => {
    await world.kubectl("rollout", "status", "deployment/web", "--timeout=60s");
    await world.kubectl("rollout", "status", "deployment/lotse", SYSTEM, "--timeout=60s");
    const before = await leader();
    const [node = ""] = before.split("_");
    const machine = await world.fleet.machine(node);
    const traffic = new Traffic(url);
    await machine.run("nft", ["-f", "-"], CUT);
    let after: string;
    try {
      await isReady(node, "Unknown");
      const notReadyMs = traffic.nowMs;
      after = await newLeader(before);
      await expectRecovered(traffic, notReadyMs);
      // The server runs, so that its Node only waits for its kubelet.
      expect(await taintsOf(node)).not.toContain(SHUTDOWN);
    } finally {
      await machine.run("nft", ["delete", "table", "inet", "cut"]);
    }
    await isReady(node, "True");
    expect(await leader()).toBe(after);
    await eventually(() => expect(healthOf("web")).toEqual(["healthy", "healthy", "healthy"]), PATIENCE);
  });
});

describe("the chart", () => {
  it("installs a DaemonSet instead of a Deployment, which serves new Services", async () => {
    await installChart(world, { args, kind: "DaemonSet", replicaCount: 1 });
    await world.kubectl("rollout", "status", "daemonset/lotse", SYSTEM, "--timeout=100s");
    await world.apply(aBalanced("second", "web", { name: "second" }));
    await eventually(() => fetchAsClient(addressOf("second")), PATIENCE);
  });

  it("deletes the load balancer of a deleted Service, and leaves others in place when it is uninstalled", async () => {
    await world.kubectl("delete", "service", "second", "--timeout=60s");
    expect(world.cloud.state.loadBalancers.find("second")).toBeUndefined();
    const traffic = new Traffic(url);
    await uninstallChart(world);
    await fetchAsClient(url);
    expect((await traffic.stop()).failures).toEqual([]);
    expect(world.cloud.state.networks.get(world.networkId)?.routes).toHaveLength(3);
  });

  it("leaves nothing in the cloud after lotse destroy", async () => {
    const { cloud, cluster } = world;
    const access = { HCLOUD_ENDPOINT: cloud.url, HCLOUD_TOKEN: cloud.token, HCLOUD_NETWORK: "cluster" };
    const variables = Object.entries({ ...access, HCLOUD_NETWORK_DISABLE_ATTACHED_CHECK: "true" });
    const command = [process.execPath, LOTSE, "destroy", "--yes", "--kubeconfig", cluster.kubeconfig];
    const network = ["--cluster-cidr", POD_RANGE];
    const words = [...variables.map(([name, value]) => `${name}=${value}`), ...command, ...network];
    // Helm removes the rights of the leader before it can release its Lease, which then expires after 15 s.
    await eventually(() => run("env", words), { timeoutMs: 60_000, intervalMs: 1_000 });
    expect(cloud.state.loadBalancers.size).toBe(0);
    expect(cloud.state.networks.get(world.networkId)?.routes).toEqual([]);
    expect(await world.kubectl("get", "service", "web", "--output=jsonpath={.metadata.finalizers}")).toBe("");
  });
});
