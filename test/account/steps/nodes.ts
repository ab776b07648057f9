/** Nodes and routes. */
import { deepStrictEqual, equal, ok } from "node:assert/strict";
import type { V1Node } from "@kubernetes/client-node";
import type { Stage } from "../stage.ts";
import type { Step } from "./step.ts";

const UNINITIALIZED = "node.cloudprovider.kubernetes.io/uninitialized";
const SHUTDOWN = "node.cloudprovider.kubernetes.io/shutdown";
const PROVIDER_ID = /^(hcloud|hrobot):\/\/\d+$/;
const LABELS = ["node.kubernetes.io/instance-type", "topology.kubernetes.io/region"];

const nodesOf = async ({ parts: { core } }: Stage): Promise<readonly V1Node[]> => (await core.listNode()).items;
const hasTaint = ({ spec }: V1Node, key: string) => (spec?.taints ?? []).some((taint) => taint.key === key);

async function nodeNamed(stage: Stage, name: string): Promise<V1Node | undefined> {
  return (await nodesOf(stage)).find(({ metadata }) => metadata?.name === name);
}

/** Whether a Node waits for a cloud-controller-manager, or is one of Hetzner's. Others may be in the cluster, too. */
function isConcerned(node: V1Node): boolean {
  return hasTaint(node, UNINITIALIZED) || PROVIDER_ID.test(node.spec?.providerID ?? "");
}

/** Throws unless the controller has initialised the Node. */
function checkInitialised(node: V1Node): void {
  const { metadata, spec, status } = node;
  const where = `Node ${metadata?.name}`;
  ok(PROVIDER_ID.test(spec?.providerID ?? ""), `${where} has the providerID ${spec?.providerID ?? "none"}`);
  ok(!hasTaint(node, UNINITIALIZED), `${where} has the taint ${UNINITIALIZED}`);
  for (const label of LABELS) ok(metadata?.labels?.[label], `${where} has no label ${label}`);
  const types = new Set((status?.addresses ?? []).map(({ type }) => type));
  ok(types.has("InternalIP") || types.has("ExternalIP"), `${where} has no IP address`);
}

async function checkMachines(stage: Stage): Promise<void> {
  for (const { server } of stage.machines.nodes) {
    const node = await nodeNamed(stage, server.name);
    equal(node?.spec?.providerID, `hcloud://${server.id}`);
    equal(node?.metadata?.labels?.["node.kubernetes.io/instance-type"], server.server_type.name);
    equal(node?.metadata?.labels?.["topology.kubernetes.io/region"], server.location.name);
    const addresses = (node?.status?.addresses ?? []).map(({ type, address }) => `${type} ${address}`);
    ok(addresses.includes(`InternalIP ${server.private_net[0]?.ip}`), `addresses: ${addresses.join(", ")}`);
    ok(addresses.includes(`ExternalIP ${server.public_net.ipv4?.ip}`), `addresses: ${addresses.join(", ")}`);
  }
}

/** Throws unless there is a route to each of the first `count` machines, and no other. */
async function checkRoutes(stage: Stage, count: number): Promise<void> {
  const wanted = stage.machines.nodes
    .slice(0, count)
    .map(({ server, podCidr }) => `${podCidr} via ${server.private_net[0]?.ip}`);
  const { routes } = await stage.network();
  deepStrictEqual(routes.map(({ destination, gateway }) => `${destination} via ${gateway}`).toSorted(), wanted);
}

/** Before the Services. */
export const NODE_STEPS: readonly Step[] = [
  {
    id: "nodes",
    title: "Every Node is initialised: providerID, labels, addresses, and no taint `uninitialized`.",
    needs: "cluster",
    run: (stage) =>
      stage.until("all Nodes are initialised", async () => {
        const nodes = (await nodesOf(stage)).filter(isConcerned);
        ok(nodes.length > 0, "the cluster has no Nodes at Hetzner, and none that waits to be initialised");
        for (const node of nodes) checkInitialised(node);
      }),
  },
  {
    id: "nodes-match",
    title: "providerID, labels and addresses are those of the servers.",
    needs: "project",
    after: "nodes",
    run: (stage) => stage.until("the Nodes match their servers", () => checkMachines(stage)),
  },
  {
    id: "routes",
    title: "Every Node's pod range has a route, and its network counts as available.",
    needs: "project",
    after: "nodes",
    run: async (stage) => {
      await stage.until("the network has all routes", () => checkRoutes(stage, 2));
      await stage.until("the network is available", async () => {
        for (const { status, metadata } of await nodesOf(stage)) {
          const condition = status?.conditions?.find(({ type }) => type === "NetworkUnavailable");
          equal(condition?.status, "False", `NetworkUnavailable of ${metadata?.name}`);
        }
      });
    },
  },
  {
    id: "routes-drift",
    title: "A route that was deleted by hand is created again.",
    needs: "project",
    after: "routes",
    run: async (stage) => {
      const { api, networkId, nodes } = stage.machines;
      const [first] = nodes;
      const route = { destination: first?.podCidr, gateway: first?.server.private_net[0]?.ip };
      await api.make(`/networks/${networkId}/actions/delete_route`, route, stage.parts.signal);
      await stage.until("the route is back", () => checkRoutes(stage, 2));
    },
  },
];

/** At the end, because they take a machine away. */
export const MACHINE_STEPS: readonly Step[] = [
  {
    id: "node-shutdown",
    title: "A Node whose server is switched off gets the taint `shutdown`.",
    needs: "project",
    after: "nodes",
    run: async (stage) => {
      const { api, nodes } = stage.machines;
      const [, last] = nodes;
      await api.make(`/servers/${last?.server.id}/actions/poweroff`, {}, stage.parts.signal);
      await last?.kubelet.setReady(false);
      await stage.until("the Node is tainted", async () => {
        const node = await nodeNamed(stage, last?.server.name ?? "");
        ok(node && hasTaint(node, SHUTDOWN), `no taint ${SHUTDOWN}`);
      });
    },
  },
  {
    id: "node-deletion",
    title: "A Node whose server is deleted is deleted, and so is its route.",
    needs: "project",
    after: "node-shutdown",
    run: async (stage) => {
      const { api, nodes } = stage.machines;
      const [, last] = nodes;
      await api.send("DELETE", `/servers/${last?.server.id}`);
      await last?.kubelet.stop();
      await stage.until("the Node is gone", async () =>
        equal(await nodeNamed(stage, last?.server.name ?? ""), undefined),
      );
      await stage.until("its route is gone", () => checkRoutes(stage, 1));
    },
  },
];
