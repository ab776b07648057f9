import { describe, expect, it } from "vitest";
import { isInside, renderRoutes, staleRoutes } from "../../../controller/route/routes.ts";
import { aNetwork, aNode, aRoute, aServer } from "../../support/builders.ts";

const NETWORK = aNetwork();
const CLUSTER = ["10.120.0.0/16"];
const SERVERS = [
  aServer({ id: 1, privateIp: "10.0.0.1" }),
  aServer({ id: 2, privateIp: "10.0.0.2" }),
  aServer({ id: 3 }),
];
const NODE_1 = aNode({ id: 1, podCIDRs: ["10.120.0.0/24"] });
const NODE_2 = aNode({ id: 2, podCIDRs: ["10.120.1.0/24"] });

describe("renderRoutes", () => {
  it("framework R07: one route per node and range, through its address in the network", () => {
    expect(renderRoutes([NODE_1, NODE_2], SERVERS, NETWORK)).toEqual({
      wanted: [
        { node: "node-1", spec: aRoute("10.120.0.0/24", "10.0.0.1") },
        { node: "node-2", spec: aRoute("10.120.1.0/24", "10.0.0.2") },
      ],
      refused: [],
    });
  });

  it("framework R12: wants nothing for a node without ranges", () => {
    expect(renderRoutes([aNode({ id: 1 })], SERVERS, NETWORK)).toEqual({ wanted: [], refused: [] });
  });

  it("unlike HCCM R11: serves the IPv4 half of a dual-stack node", () => {
    const node = aNode({ id: 1, podCIDRs: ["fd00:1::/64", "10.120.0.0/24"] });
    expect(renderRoutes([node], SERVERS, NETWORK)).toMatchObject({
      wanted: [{ spec: { destination: "10.120.0.0/24" } }],
      refused: [],
    });
  });

  it("framework R22: wants a range once that a node lists twice", () => {
    const node = aNode({ id: 1, podCIDRs: ["10.120.0.0/24", "10.120.0.0/24"] });
    expect(renderRoutes([node], SERVERS, NETWORK).wanted).toHaveLength(1);
  });

  it("gives a range that two nodes claim to the first, and tells the other", () => {
    const second = aNode({ id: 2, podCIDRs: ["10.120.0.0/24", "10.120.1.0/24"] });
    const { wanted, refused } = renderRoutes([NODE_1, second], SERVERS, NETWORK);
    expect(wanted.map(({ node, spec }) => [node, spec.destination])).toEqual([
      ["node-1", "10.120.0.0/24"],
      ["node-2", "10.120.1.0/24"],
    ]);
    expect(refused).toEqual([{ node: "node-2", reason: "10.120.0.0/24 is also the pod range of node node-1" }]);
  });

  it("unlike HCCM R12: finds the server by ProviderID whatever the node is called", () => {
    const node = aNode({ name: "renamed", id: 1, podCIDRs: ["10.120.0.0/24"] });
    expect(renderRoutes([node], SERVERS, NETWORK).wanted).toMatchObject([{ node: "renamed" }]);
  });

  it("framework R36: wants nothing for a node that is being deleted", () => {
    const node = aNode({ id: 1, podCIDRs: ["10.120.0.0/24"], isDeleted: true });
    expect(renderRoutes([node], SERVERS, NETWORK)).toEqual({ wanted: [], refused: [] });
  });

  it.each([
    ["R4: a server outside the network", 3, "server node-3 is not attached to network cluster"],
    ["R4: no server", 99, "it has no server in this project"],
  ])("HCCM %s is refused with the reason; others are served", (_, id, reason) => {
    const { wanted, refused } = renderRoutes([aNode({ id, podCIDRs: ["10.120.9.0/24"] }), NODE_2], SERVERS, NETWORK);
    expect(refused).toEqual([{ node: `node-${id}`, reason }]);
    expect(wanted).toMatchObject([{ node: "node-2" }]);
  });
});

describe("isInside", () => {
  it.each([
    ["R01", "10.244.0.0/24", "10.244.0.0/16", true],
    ["R01", "10.244.255.0/24", "10.244.0.0/16", true],
    ["R02", "10.244.0.0/24", "10.244.0.0/14", true],
    ["R02", "10.247.255.0/24", "10.244.0.0/14", true],
    ["R04", "10.224.0.0/24", "10.244.0.0/16", false],
    ["R04", "10.0.10.0/24", "10.244.0.0/16", false],
    ["R04", "10.255.255.0/24", "10.244.0.0/16", false],
    ["R05", "10.248.0.0/24", "10.244.0.0/14", false],
    ["R05", "10.243.255.0/24", "10.244.0.0/14", false],
    ["a wider one that only begins inside", "10.244.0.0/8", "10.0.0.0/16", true],
    ["a wider one around it", "10.0.0.0/8", "10.244.0.0/16", false],
    ["the default route", "0.0.0.0/0", "10.244.0.0/16", false],
    ["one of the other family", "a00:100::/24", "10.244.0.0/16", false],
    ["R38: a text that is no range", "nonsense", "10.244.0.0/16", false],
  ])("framework %s: %s in %s: %s", (_, range, cluster, expected) => {
    expect(isInside(range, [cluster])).toBe(expected);
  });

  it("looks at every range of the cluster", () => {
    expect(isInside("10.244.1.0/24", ["fd00::/56", "10.244.0.0/16"])).toBe(true);
    expect(isInside("10.244.1.0/24", [])).toBe(false);
  });
});

describe("staleRoutes", () => {
  const { wanted } = renderRoutes([NODE_1, NODE_2], SERVERS, NETWORK);
  it.each([
    ["R08: nothing when all are wanted", ["10.120.0.0/24", "10.120.1.0/24"], []],
    ["R10: those of unknown nodes", ["10.120.0.0/24", "10.120.2.0/24"], ["10.120.2.0/24"]],
    ["R13: dead ends inside the cluster's range", ["10.120.9.0/24"], ["10.120.9.0/24"]],
    ["R14: never those outside of it", ["10.1.2.0/24", "0.0.0.0/0"], []],
  ])("framework %s", (_, listed, stale) => {
    const routes = listed.map((destination) => ({ destination, gateway: "10.0.0.9" }));
    expect(staleRoutes(aNetwork({ routes }), wanted, CLUSTER)).toEqual(
      stale.map((destination) => aRoute(destination, "10.0.0.9")),
    );
  });

  it("does not take a wanted range with another gateway for stale: it is replaced in order", () => {
    const routes = [{ destination: "10.120.0.0/24", gateway: "10.0.0.99" }];
    expect(staleRoutes(aNetwork({ routes }), wanted, CLUSTER)).toEqual([]);
  });
});
