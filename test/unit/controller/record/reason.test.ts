import { describe, expect, it } from "vitest";
import { FINALIZER } from "../../../../controller/formats/finalizer.ts";
import { planRun } from "../../../../controller/guard/plan.ts";
import { objectOf, reasonFor } from "../../../../controller/record/reason.ts";
import { renderCluster } from "../../../../controller/render/cluster.ts";
import { describeField } from "../../../../stacks/units/difference.ts";
import {
  aBalancer,
  aBalancerService,
  aNetwork,
  aNode,
  aRenderOptions,
  aServer,
  aServerTarget,
  aService,
  NETWORK_ID,
  UID,
} from "../../../support/builders.ts";

const OPTIONS = aRenderOptions({
  defaults: { location: "fsn1", type: "lb21" },
  clusterCidrs: ["10.244.0.0/16"],
  networkId: NETWORK_ID,
});
const BALANCER = aBalancer({
  name: "balancer",
  labels: { "hcloud-ccm/service-uid": UID },
  services: [aBalancerService(81)],
  targets: [aServerTarget(1), aServerTarget(3), aServerTarget(4)],
});

function reasons(service = aService(), occasion?: string): Readonly<Record<string, string>> {
  const excluded = { "node.kubernetes.io/exclude-from-external-load-balancers": "" };
  const nodes = [aNode({ id: 1, podCIDRs: ["10.244.1.0/24"] }), aNode({ id: 2 }), aNode({ id: 3, labels: excluded })];
  const servers = [1, 2, 3].map((id) => aServer({ id, privateIp: `10.0.0.${id}` }));
  const network = aNetwork({ routes: [{ destination: "10.244.9.0/24", gateway: "10.0.0.9" }] });
  const snapshot = {
    now: 0,
    services: [service],
    nodes,
    cloud: { servers, loadBalancers: [BALANCER], certificates: [], network },
  };
  const rendered = renderCluster(snapshot, OPTIONS);
  const context = { rendered, nodes, servers, defaults: OPTIONS.defaults, ...(occasion && { occasion }) };
  return Object.fromEntries(
    planRun(rendered).flatMap((step) =>
      step.differences.map((difference) => [
        `${objectOf(step, context)}: ${describeField(difference)}`,
        reasonFor(step, difference, context),
      ]),
    ),
  );
}

describe("the reason for a change", () => {
  const service = aService({
    ports: [80, 81],
    annotations: {
      "algorithm-type": "least_connections",
      "81.uses-proxyprotocol": "true",
      name: "balancer",
      "ipv4-rdns": "web.example.com",
      "private-subnet-ip-range": "10.0.0.0/16",
    },
  });
  const prefix = "Service default/web, annotation load-balancer.hetzner.cloud";

  it.each([
    ["an annotation", "algorithm", `${prefix}/algorithm-type`],
    ["an annotation for one port", "listener 81 proxy protocol", `${prefix}/81.uses-proxyprotocol`],
    ["a cluster-wide default", "type", "the controller's HCLOUD_LOAD_BALANCERS_TYPE"],
    ["a new port", "listener 80 destination port", "Service default/web, spec.ports 80"],
    [
      "everything about a new port that no annotation sets",
      "listener 80 protocol",
      "Service default/web, spec.ports 80",
    ],
    ["a new node", "target server-2", "Node node-2"],
    ["a node that must not be a target", "target server-3", "Node node-3 is excluded from load balancers"],
    ["a node that is gone", "target server-4", "no Node runs on this server"],
    ["the cluster's network", "network id", "HCLOUD_NETWORK"],
    ["the annotation of a subnet", "network subnet", `${prefix}/private-subnet-ip-range`],
    ["the annotation of a reverse DNS name", "reverse DNS of IPv4", `${prefix}/ipv4-rdns`],
  ])("is %s", (_, field, expected) => {
    expect(reasons(service)[`Service default/web: ${field}`]).toBe(expected);
  });

  it("is the occasion when all changes have one in common: no Service is being deleted then", () => {
    const found = Object.values(reasons(service, "lotse destroy"));
    expect(found.length).toBeGreaterThan(5);
    expect(new Set(found)).toEqual(new Set(["lotse destroy"]));
  });

  it("is that an annotation is not set, when its default is restored", () => {
    const balancer = { ...BALANCER, algorithm: { type: "least_connections" as const } };
    const snapshot = {
      now: 0,
      services: [aService()],
      nodes: [],
      cloud: { servers: [], loadBalancers: [balancer], certificates: [] },
    };
    const { networkId: _, ...options } = OPTIONS;
    const rendered = renderCluster(snapshot, options);
    const [step] = planRun(rendered);
    const difference = step?.differences.find(({ field }) => field === "algorithm");
    if (!step || !difference) throw new Error("the algorithm does not differ");
    expect(reasonFor(step, difference, { rendered, nodes: [], servers: [], defaults: {} })).toBe(
      `${prefix}/algorithm-type is not set`,
    );
  });

  it.each([
    ["of a new route", "Node node-1: gateway", "Node node-1, spec.podCIDRs; private address of server node-1"],
    ["of a stale route", "route 10.244.9.0/24: existence", "no Node has the pod range 10.244.9.0/24"],
  ])("is the Node, or that there is none, %s", (_, field, expected) => {
    expect(reasons()[field]).toBe(expected);
  });

  it.each([
    ["is being deleted", { isDeleted: true }],
    ["is no longer of type LoadBalancer", { type: "ClusterIP" }],
  ])("is that the Service %s", (expected, given) => {
    const found = reasons(aService({ finalizers: [FINALIZER], ...given }));
    expect(found["Service default/web: existence"]).toBe(`Service default/web ${expected}`);
  });
});
