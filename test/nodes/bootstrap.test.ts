/** What a controller changes in a cluster whose kubelets wait for one: before and after, and pods that reach each other. */

import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { installChart } from "../../dev-env/nodes/chart.ts";
import type { World } from "../../dev-env/nodes/world.ts";
import { changeCloud } from "../support/change-cloud.ts";
import { eventually } from "../support/eventually.ts";
import {
  aBalanced,
  anEcho,
  aServer,
  fetchAsClient,
  fetchFromPod,
  podsOf,
  type Report,
  startRealWorld,
} from "../support/real-world.ts";

const TAINT = "node.cloudprovider.kubernetes.io/uninitialized";
/** Pods that run on nodes that are not initialised, to try the network before the controller has started. */
const TOLERANT = { tolerations: [{ key: TAINT, operator: "Exists" }] };

interface Pair {
  readonly isSameNode: boolean;
  /** The report of the pod, or why there is none. */
  readonly result: Report | string;
  readonly from: string;
}

describe("a cluster with --cloud-provider=external", () => {
  let world: World;
  beforeAll(async () => {
    world = await startRealWorld();
    await world.apply(anEcho("DaemonSet", "probe", TOLERANT), anEcho("Deployment", "web"), aBalanced("web", "web"));
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  const nodes = async () => {
    const { items } = JSON.parse(await world.kubectl("get", "nodes", "--output=json"));
    return items as readonly { metadata: NodeMeta; spec: NodeSpec; status: NodeStatus }[];
  };
  const pairs = async (): Promise<readonly Pair[]> => {
    // Pods of a deleted Node are listed as Running until they are garbage-collected.
    const present = new Set((await nodes()).map(({ metadata }) => metadata.name));
    const pods = (await podsOf(world, "probe")).filter(({ node }) => present.has(node));
    const all = pods.flatMap((from) => pods.map((to) => ({ from, to })));
    return Promise.all(
      all.map(async ({ from, to }) => ({
        isSameNode: from.node === to.node,
        from: from.ip,
        result: await fetchFromPod(world, from.name, `http://${to.ip}:8080/`).catch((error: Error) => error.message),
      })),
    );
  };
  const expectAllPairs = (count: number) =>
    eventually(
      async () => {
        const seen = await pairs();
        expect(seen.map(({ result }) => (typeof result === "string" ? result : result.peer))).toEqual(
          seen.map(({ from }) => from),
        );
        expect(seen).toHaveLength(count);
      },
      { timeoutMs: 60_000 },
    );

  it("leaves Nodes tainted, pods Pending, and the cloud as it was, without a controller", async () => {
    await eventually(async () => {
      const events = await world.kubectl("get", "events", "--field-selector=reason=FailedScheduling");
      expect(events).toContain("3 node(s) had untolerated taint");
      expect(await podsOf(world, "probe")).toHaveLength(3);
    });
    for (const { metadata, spec } of await nodes()) {
      expect(spec.taints?.map(({ key }) => key)).toContain(TAINT);
      expect(spec.providerID).toBeUndefined();
      expect(metadata.labels).not.toHaveProperty("topology.kubernetes.io/region");
    }
    expect(await podsOf(world, "web")).toEqual([]);
    expect(world.cloud.state.loadBalancers.size).toBe(0);
    expect(world.cloud.state.networks.get(world.networkId)?.routes).toEqual([]);
  });

  it("carries no packets between pods on different nodes, without routes", async () => {
    const seen = await eventually(async () => {
      const all = await pairs();
      expect(all).toHaveLength(9);
      // A pod is Running a moment before it answers.
      for (const { isSameNode, result } of all) if (isSameNode) expect(result).toHaveProperty("peer");
      return all;
    });
    for (const { isSameNode, result } of seen)
      if (!isSameNode) expect(result).toMatch(/unreachable|no route|[Tt]imeout|deadline/);
  });

  it("starts the chart's two replicas although every node is tainted, as an ordinary user", async () => {
    await installChart(world, { args: { resync: "10s" } });
    await eventually(
      async () => {
        const ready = "--output=jsonpath={.status.readyReplicas}";
        expect(await world.kubectl("get", "deployment", "lotse", "--namespace=kube-system", ready)).toBe("2");
      },
      { timeoutMs: 60_000 },
    );
    const { items } = JSON.parse(
      await world.kubectl(
        "get",
        "pods",
        "--namespace=kube-system",
        "--selector=app.kubernetes.io/name=lotse",
        "-ojson",
      ),
    );
    for (const { spec } of items) {
      expect(spec.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: "RuntimeDefault" } });
      expect(spec.containers[0].securityContext).toMatchObject({ readOnlyRootFilesystem: true });
    }
  });

  it("initialises Nodes, which lets pods start, and gives Services load balancers that reach them", async () => {
    await eventually(async () => {
      for (const { metadata, spec, status } of await nodes()) {
        expect(spec.taints ?? []).toEqual([]);
        const server = world.cloud.state.servers.find(metadata.name);
        expect(spec.providerID).toBe(`hcloud://${server?.id}`);
        expect(metadata.labels).toMatchObject({
          "topology.kubernetes.io/region": "fsn1",
          "node.kubernetes.io/instance-type": "cx23",
        });
        expect(status.addresses).toContainEqual({ type: "ExternalIP", address: server?.public_net.ipv4?.ip });
      }
      expect(await podsOf(world, "web")).toHaveLength(3);
    });
    const answered = await eventually(() => fetchAsClient(`http://${addressOf(world)}/hello`));
    expect(answered).toMatchObject({ path: "/hello", host: addressOf(world) });
  });

  it("carries packets between all pods over Hetzner routes, with the pods' own addresses", async () => {
    await expectAllPairs(9);
  });

  it("resolves names of Services in pods, and lets pods reach the load balancer's address", async () => {
    const [pod] = await podsOf(world, "probe");
    for (const url of ["http://web/", `http://${addressOf(world)}/`]) {
      const answered = await eventually(() => fetchFromPod(world, pod?.name ?? "", url));
      expect(answered.pod).toMatch(/^web-/);
    }
  });

  it("loses packets as soon as a route is deleted by hand, and repairs it", async () => {
    const [route] = world.cloud.state.networks.get(world.networkId)?.routes ?? [];
    await changeCloud(world.cloud, "POST", `/networks/${world.networkId}/actions/delete_route`, route);
    const lost = await pairs();
    expect(lost.some(({ result }) => typeof result === "string")).toBe(true);
    await expectAllPairs(9);
  });

  it("gives a new server a route, a replaced one its own, and removes those of a deleted one", async () => {
    const userData = "#cloud-config\nhostname: node-4\n";
    await changeCloud(world.cloud, "POST", "/servers", { ...aServer("node-4", world.networkId), user_data: userData });
    await expectAllPairs(16);
    const read = ["--silent", "http://169.254.169.254/hetzner/v1/userdata"];
    expect(await (await world.fleet.machine("node-4")).run("curl", read)).toBe(userData);
    for (const name of ["node-4", "node-2"]) {
      await changeCloud(world.cloud, "DELETE", `/servers/${world.cloud.state.servers.find(name)?.id}`);
      // A kubelet that starts before the Node is deleted would take it over, with the provider ID of the old server.
      await eventually(async () => expect((await nodes()).map(({ metadata }) => metadata.name)).not.toContain(name));
    }
    await eventually(() => expect(world.cloud.state.networks.get(world.networkId)?.routes).toHaveLength(2));
    await changeCloud(world.cloud, "POST", "/servers", aServer("node-2", world.networkId));
    await eventually(
      async () => {
        const replaced = (await nodes()).find(({ metadata }) => metadata.name === "node-2");
        expect(replaced?.spec.providerID).toBe(`hcloud://${world.cloud.state.servers.find("node-2")?.id}`);
      },
      { timeoutMs: 60_000 },
    );
    await expectAllPairs(9);
    expect(world.cloud.state.networks.get(world.networkId)?.routes).toHaveLength(3);
  });
});

interface NodeMeta {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
}
interface NodeSpec {
  readonly providerID?: string;
  readonly taints?: readonly { readonly key: string }[];
}
interface NodeStatus {
  readonly addresses: readonly { readonly type: string; readonly address: string }[];
}

const addressOf = (world: World) => world.cloud.state.loadBalancers.values()[0]?.public_net.ipv4.ip ?? "";
