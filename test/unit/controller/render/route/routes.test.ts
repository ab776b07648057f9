import { describe, expect, it } from "vitest";
import { isWithin, MAX_ROUTES, planRoutes, type RouteView } from "../../../../../controller/render/route/routes.ts";
import { aNetwork, aNode, aRoute, aServer } from "../../../../support/builders.ts";

const NETWORK = aNetwork();
const CLUSTER = ["10.120.0.0/16"];
const SERVERS = [
  aServer({ id: 1, privateIp: "10.0.0.1" }),
  aServer({ id: 2, privateIp: "10.0.0.2" }),
  aServer({ id: 3 }),
];
const NODE_1 = aNode({ id: 1, podCIDRs: ["10.120.0.0/24"] });
const NODE_2 = aNode({ id: 2, podCIDRs: ["10.120.1.0/24"] });

const renderRoutes = (view: RouteView) => {
  const { wanted, refused } = planRoutes(view, CLUSTER);
  return { wanted, refused };
};

describe("the routes that nodes need", () => {
  it("framework R07: one route per node and range, through its address in the network", () => {
    expect(renderRoutes({ nodes: [NODE_1, NODE_2], servers: SERVERS, network: NETWORK })).toEqual({
      wanted: [
        { node: "node-1", spec: aRoute("10.120.0.0/24", "10.0.0.1") },
        { node: "node-2", spec: aRoute("10.120.1.0/24", "10.0.0.2") },
      ],
      refused: [],
    });
  });

  it("framework R12: plans no route for a node without pod CIDRs", () => {
    expect(renderRoutes({ nodes: [aNode({ id: 1 })], servers: SERVERS, network: NETWORK })).toEqual({
      wanted: [],
      refused: [],
    });
  });

  it("unlike HCCM R11: serves the IPv4 half of a dual-stack node", () => {
    const node = aNode({ id: 1, podCIDRs: ["fd00:1::/64", "10.120.0.0/24"] });
    expect(renderRoutes({ nodes: [node], servers: SERVERS, network: NETWORK })).toMatchObject({
      wanted: [{ spec: { destination: "10.120.0.0/24" } }],
      refused: [],
    });
  });

  it("framework R22: plans one route for a CIDR that a node lists twice", () => {
    const node = aNode({ id: 1, podCIDRs: ["10.120.0.0/24", "10.120.0.7/24"] });
    expect(renderRoutes({ nodes: [node], servers: SERVERS, network: NETWORK }).wanted).toHaveLength(1);
  });

  const OLD = new Date("2026-01-01T00:00:00Z");
  const YOUNG = new Date("2026-06-01T00:00:00Z");
  const rival = (name: string, id: number, created?: Date) =>
    aNode({ name, id, podCIDRs: ["10.120.0.0/24"], ...(created && { created }) });
  it.each([
    ["no node yet: the older node gets it", undefined, [rival("aaa", 2, YOUNG), rival("old", 1, OLD)], "old", "aaa"],
    [
      "no node yet: one in a manifest is the youngest",
      undefined,
      [rival("new", 2), rival("old", 1, OLD)],
      "old",
      "new",
    ],
    ["the younger node, which keeps it", "10.0.0.2", [rival("aaa", 2, YOUNG), rival("old", 1, OLD)], "aaa", "old"],
    ["neither: the older node gets it", "10.0.0.99", [rival("aaa", 2, YOUNG), rival("old", 1, OLD)], "old", "aaa"],
    ["a node whose server is not listed", "10.0.0.9", [rival("aaa", 2, OLD), rival("lost", 99, YOUNG)], "-", "aaa"],
    ["a node whose server is detached", "10.0.0.9", [rival("aaa", 2, OLD), rival("lost", 3, YOUNG)], "-", "aaa"],
  ])("of a CIDR that two nodes claim, held by %s", (_, gateway, nodes, winner, loser) => {
    const routes = gateway === undefined ? [] : [{ destination: "10.120.0.0/24", gateway }];
    const plan = planRoutes({ nodes, servers: SERVERS, network: aNetwork({ routes }) }, CLUSTER);
    expect(plan.wanted.map(({ node }) => node)).toEqual(winner === "-" ? [] : [winner]);
    expect(plan.refused.find(({ node }) => node === loser)?.reason).toMatch("10.120.0.0/24 also belongs to node");
    expect(plan.stale).toEqual([]);
  });

  it("unlike HCCM R2, R12: finds the server by ProviderID whatever the node is called", () => {
    const node = aNode({ name: "renamed", id: 1, podCIDRs: ["10.120.0.0/24"] });
    expect(renderRoutes({ nodes: [node], servers: SERVERS, network: NETWORK }).wanted).toMatchObject([
      { node: "renamed" },
    ]);
  });

  it("keeps the route of a node that is being deleted: its pods need it while they end", () => {
    const node = aNode({ id: 1, podCIDRs: ["10.120.0.0/24"], isDeleted: true });
    expect(renderRoutes({ nodes: [node], servers: SERVERS, network: NETWORK })).toMatchObject({
      wanted: [{ node: "node-1" }],
      refused: [],
    });
    expect(renderRoutes({ nodes: [node], servers: [], network: NETWORK })).toEqual({ wanted: [], refused: [] });
  });

  it.each([
    ["R4: a server outside the network", 3, "server node-3 is not attached to network cluster: attach it"],
    ["R4: no server", 99, "its server does not exist in this project"],
  ])("HCCM %s is refused with the reason; others are served", (_, id, reason) => {
    const { wanted, refused } = renderRoutes({
      nodes: [aNode({ id, podCIDRs: ["10.120.9.0/24"] }), NODE_2],
      servers: SERVERS,
      network: NETWORK,
    });
    expect(refused).toEqual([{ node: `node-${id}`, reason, isFinal: false, isNew: true }]);
    expect(wanted).toMatchObject([{ node: "node-2" }]);
  });
});

describe("isWithin", () => {
  it.each([
    ["framework R01", "10.244.0.0/24", "10.244.0.0/16", true],
    ["framework R01", "10.244.255.0/24", "10.244.0.0/16", true],
    ["framework R02", "10.244.0.0/24", "10.244.0.0/14", true],
    ["framework R02", "10.247.255.0/24", "10.244.0.0/14", true],
    ["framework R04", "10.224.0.0/24", "10.244.0.0/16", false],
    ["framework R04", "10.0.10.0/24", "10.244.0.0/16", false],
    ["framework R04", "10.255.255.0/24", "10.244.0.0/16", false],
    ["framework R05", "10.248.0.0/24", "10.244.0.0/14", false],
    ["framework R05", "10.243.255.0/24", "10.244.0.0/14", false],
    ["unlike HCCM R3: one that only begins inside", "10.244.0.0/8", "10.0.0.0/16", false],
    ["one that only begins inside", "10.120.0.0/15", "10.120.0.0/16", false],
    ["the same", "10.120.0.0/16", "10.120.0.0/16", true],
    ["a wider one around it", "10.0.0.0/8", "10.244.0.0/16", false],
    ["the default route", "0.0.0.0/0", "10.244.0.0/16", false],
    ["one of the other family", "a00:100::/24", "10.244.0.0/16", false],
    ["framework R38: a text that is no range", "nonsense", "10.244.0.0/16", false],
  ])("%s: %s in %s: %s", (_, range, cluster, expected) => {
    expect(isWithin(range, [cluster])).toBe(expected);
  });

  it("checks every CIDR of the cluster", () => {
    expect(isWithin("10.244.1.0/24", ["fd00::/56", "10.244.0.0/16"])).toBe(true);
    expect(isWithin("10.244.1.0/24", [])).toBe(false);
  });
});

describe("stale routes", () => {
  const { wanted } = renderRoutes({ nodes: [NODE_1, NODE_2], servers: SERVERS, network: NETWORK });
  type Routes = ReturnType<typeof aNetwork>["routes"];
  const staleOf = (routes: Routes, nodes = [NODE_1, NODE_2], servers = SERVERS) =>
    planRoutes({ nodes, servers, network: aNetwork({ routes }) }, CLUSTER).stale;
  it.each([
    ["R08: nothing when all are wanted", ["10.120.0.0/24", "10.120.1.0/24"], []],
    ["R10: those of unknown nodes", ["10.120.0.0/24", "10.120.2.0/24"], ["10.120.2.0/24"]],
    ["R13: dead ends inside the cluster's range", ["10.120.9.0/24"], ["10.120.9.0/24"]],
    ["R14: never those outside of it", ["10.1.2.0/24", "0.0.0.0/0"], []],
  ])("HCCM R3, framework %s", (_, listed, stale) => {
    const routes = listed.map((destination) => ({ destination, gateway: "10.0.0.9" }));
    expect(staleOf(routes)).toEqual(stale.map((destination) => aRoute(destination, "10.0.0.9")));
  });

  it("unlike HCCM R8: names the gateway of every route that it removes, as the network has it", () => {
    const routes = [{ destination: "10.120.9.0/24", gateway: "10.0.0.77" }];
    expect(staleOf(routes)).toEqual([aRoute("10.120.9.0/24", "10.0.0.77")]);
  });

  it.each([
    ["whose server is detached", SERVERS.map(({ id }) => aServer({ id })), {}],
    ["whose server is missing from the list", [], {}],
    ["that is being deleted (Karpenter drains behind a finalizer)", SERVERS, { isDeleted: true }],
    ["that is being deleted, without a server", [], { isDeleted: true }],
    ["that is not Ready", [], { ready: "Unknown" as const }],
  ])("never include the route of a Node %s", (_, servers, given) => {
    const routes = [{ destination: "10.120.0.0/24", gateway: "10.0.0.1" }];
    const node = aNode({ id: 1, podCIDRs: ["10.120.0.0/24"], ...given });
    expect(staleOf(routes, [node], servers)).toEqual([]);
    const { refused, kept } = planRoutes({ nodes: [node], servers, network: aNetwork({ routes }) }, CLUSTER);
    const isServed = servers.some(({ private_net }) => private_net.length > 0);
    expect(kept).toEqual(isServed ? [] : [aRoute("10.120.0.0/24", "10.0.0.1")]);
    expect(refused.every(({ hasRoute }) => hasRoute)).toBe(true);
  });

  it("framework R17: changes gateways and removes nothing when nodes swap their CIDRs", () => {
    const routes = wanted.map(({ spec }) => ({ destination: spec.destination, gateway: spec.gateway }));
    const nodes = [aNode({ id: 1, podCIDRs: ["10.120.1.0/24"] }), aNode({ id: 2, podCIDRs: ["10.120.0.0/24"] })];
    const plan = planRoutes({ nodes, servers: SERVERS, network: aNetwork({ routes }) }, CLUSTER);
    expect(plan.wanted.map(({ spec }) => [spec.destination, spec.gateway])).toEqual([
      ["10.120.1.0/24", "10.0.0.1"],
      ["10.120.0.0/24", "10.0.0.2"],
    ]);
    expect([plan.stale, plan.refused]).toEqual([[], []]);
  });

  it("does not treat a wanted destination with another gateway as stale: the route is replaced", () => {
    const routes = [{ destination: "10.120.0.0/24", gateway: "10.0.0.99" }];
    expect(staleOf(routes)).toEqual([]);
  });
});

describe("planRoutes", () => {
  const plan = (nodes: Parameters<typeof aNode>[0][], routes: Parameters<typeof aNetwork>[0] = {}) =>
    planRoutes({ nodes: nodes.map((node) => aNode(node)), servers: SERVERS, network: aNetwork(routes) }, CLUSTER);
  const foreign = (count: number) =>
    Array.from({ length: count }, (_, i) => ({ destination: `10.200.${i}.0/24`, gateway: "10.0.0.9" }));

  it.each([
    ["10.121.0.0/24", undefined],
    ["10.120.0.0/15", undefined],
    ["0.0.0.0/0", "10.0.0.9"],
    ["10.121.0.0/24", "10.0.0.9"],
    ["10.121.0.0/24", "10.0.0.1"],
  ])("unlike HCCM R9: refuses %s, outside the cluster's CIDR, and leaves its route to %s alone", (range, gateway) => {
    const routes = gateway === undefined ? [] : [{ destination: range, gateway }];
    const { wanted, stale, kept, refused } = plan([{ id: 1, podCIDRs: [range] }], { routes });
    expect([wanted, stale, kept]).toEqual([[], [], []]);
    const reason = expect.stringContaining(`pod CIDR ${range} is outside --cluster-cidr`);
    const hasRoute = gateway === "10.0.0.1" && { hasRoute: true };
    expect(refused).toEqual([{ node: "node-1", reason, isFinal: true, isMisplaced: true, ...hasRoute }]);
  });

  it("unlike framework R37: never removes a route outside the cluster CIDRs, and makes none", () => {
    expect(plan([], { routes: [{ destination: "10.121.0.0/24", gateway: "10.0.0.1" }] }).stale).toEqual([]);
  });

  it("creates new routes up to the limit, and refuses the rest before the API does", () => {
    const routes = foreign(MAX_ROUTES - 1);
    const { wanted, refused } = plan(
      [
        { id: 1, podCIDRs: ["10.120.0.0/24"] },
        { id: 2, podCIDRs: ["10.120.1.0/24"] },
      ],
      { routes },
    );
    expect(wanted).toMatchObject([{ node: "node-1" }]);
    expect(refused).toEqual([
      { node: "node-2", reason: expect.stringContaining("reached the limit of 100 routes"), isFinal: true },
    ]);
  });

  it("counts the room that stale routes leave, and never evicts an existing route", () => {
    const stale = { destination: "10.120.9.0/24", gateway: "10.0.0.9" };
    const node = { id: 1, podCIDRs: ["10.120.0.0/24"] };
    expect(plan([node], { routes: [...foreign(MAX_ROUTES - 1), stale] }).wanted).toHaveLength(1);
    const existing = { destination: "10.120.0.0/24", gateway: "10.0.0.1" };
    expect(plan([node], { routes: [...foreign(MAX_ROUTES - 1), existing] })).toMatchObject({ refused: [] });
    expect(plan([node], { routes: foreign(MAX_ROUTES + 5) })).toMatchObject({ wanted: [], refused: [{}] });
  });

  it("framework 4.2: reports a node that lost its CIDR and its route, but none that never had one", () => {
    const routes = [{ destination: "10.120.0.0/24", gateway: "10.0.0.1" }];
    const { refused, stale } = plan([{ id: 1 }, { id: 2 }, { id: 3, podCIDRs: ["fd00::/64"] }], { routes });
    expect(stale).toHaveLength(1);
    expect(refused).toEqual([{ node: "node-1", reason: expect.stringContaining("podCIDR"), isFinal: true }]);
  });

  it.each([
    ["a dedicated server", { providerID: "hrobot://7", podCIDRs: ["10.120.7.0/24"] }],
    ["another provider's node", { providerID: "k3s://a", podCIDRs: ["10.120.7.0/24"] }],
    ["a node that is not initialised", { name: "new", podCIDRs: ["10.120.7.0/24"] }],
  ])("unlike HCCM E26: creates no route to %s, and leaves an existing one alone", (_, node) => {
    const routes = [{ destination: "10.120.7.0/24", gateway: "10.0.0.1" }];
    expect(plan([node], { routes })).toEqual({ wanted: [], refused: [], stale: [], kept: [] });
  });
});
