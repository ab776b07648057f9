import { describe, expect, it } from "vitest";
import { isEligible, renderTargets } from "../../../../../controller/render/service/targets.ts";
import { aNode, aServer, NETWORK_ID } from "../../../../support/builders.ts";

const EXCLUDE = "node.kubernetes.io/exclude-from-external-load-balancers";
const PUBLIC = { selector: () => true, usePrivateIp: false };
const PRIVATE = { selector: () => true, usePrivateIp: true, networkId: NETWORK_ID };

describe("isEligible (HCCM S5, K5, K6)", () => {
  it.each([
    ["framework S55: an ordinary node", {}, true],
    ["framework S55: exclusion false", { labels: { [EXCLUDE]: "false" } }, true],
    ["exclusion 0", { labels: { [EXCLUDE]: "0" } }, true],
    ["exclusion F", { labels: { [EXCLUDE]: "F" } }, true],
    ["framework S17, S55: exclusion true", { labels: { [EXCLUDE]: "true" } }, false],
    ["framework S55: exclusion empty", { labels: { [EXCLUDE]: "" } }, false],
    ["framework S55: exclusion foo", { labels: { [EXCLUDE]: "foo" } }, false],
    ["exclusion fALSE, which Go cannot read", { labels: { [EXCLUDE]: "fALSE" } }, false],
    [
      "framework S16: about to be scaled down",
      { taints: [{ key: "ToBeDeletedByClusterAutoscaler", effect: "NoSchedule" }] },
      false,
    ],
    ["framework S20: another taint", { taints: [{ key: "dedicated", effect: "NoSchedule" }] }, true],
    ["framework S19: being deleted", { isDeleted: true }, false],
    ["framework S15: not ready", { conditions: [{ type: "Ready", status: "False" }] }, true],
    ["framework S72: a control plane", { labels: { "node-role.kubernetes.io/control-plane": "" } }, true],
  ])("%s: %s", (_, node, expected) => {
    expect(isEligible(aNode(node))).toBe(expected);
  });
});

describe("renderTargets", () => {
  const servers = [
    aServer({ id: 2, privateIp: "10.0.0.2" }),
    aServer({ id: 1, privateIp: "10.0.0.1" }),
    aServer({ id: 10 }),
  ];

  it("renders servers in the order of their ids, whatever the order of nodes", () => {
    const nodes = [aNode({ id: 10 }), aNode({ id: 2 }), aNode({ id: 1 })];
    const expected = [1, 2, 10].map((serverId) => ({ kind: "server", serverId, usePrivateIp: false }));
    expect(renderTargets(nodes, servers, PUBLIC)).toEqual({ targets: expected, leftOut: [], beyondLimit: [] });
    expect(renderTargets(nodes.toReversed(), servers.toReversed(), PUBLIC).targets).toEqual(expected);
  });

  it("uses private addresses when asked to (HCCM A11)", () => {
    expect(renderTargets([aNode({ id: 1 })], servers, PRIVATE).targets).toEqual([
      { kind: "server", serverId: 1, usePrivateIp: true },
    ]);
  });

  it("HCCM A15, S9: applies the selector to the node's labels", () => {
    const nodes = [aNode({ id: 1, labels: { pool: "edge" } }), aNode({ id: 2 })];
    const { targets, leftOut } = renderTargets(nodes, servers, { ...PUBLIC, selector: ({ pool }) => pool === "edge" });
    expect(targets).toMatchObject([{ serverId: 1 }]);
    expect(leftOut).toEqual([]);
  });

  it("finds a node that is not initialised yet by its name", () => {
    expect(renderTargets([aNode({ name: "node-1" })], servers, PUBLIC).targets).toMatchObject([{ serverId: 1 }]);
  });

  it("lists a server once when two nodes refer to it", () => {
    const nodes = [aNode({ name: "old", id: 1 }), aNode({ name: "new", id: 1 })];
    expect(renderTargets(nodes, servers, PUBLIC).targets).toHaveLength(1);
  });

  it.each([
    ["another provider's node", "k3s://a"],
    ["a dedicated server", "hrobot://1"],
    ["a broken ProviderID", "hcloud://a"],
  ])("ignores %s (HCCM T1)", (_, providerID) => {
    expect(renderTargets([aNode({ providerID })], servers, PUBLIC)).toEqual({
      targets: [],
      leftOut: [],
      beyondLimit: [],
    });
  });

  it.each([
    ["a server that is gone", { id: 99 }, PUBLIC, "does not exist"],
    ["no public IPv4 address", { id: 3 }, PUBLIC, "public IPv4"],
    ["no attachment to the network", { id: 10 }, PRIVATE, "not attached"],
  ])("unlike HCCM T8: leaves out a node with %s, reports why, and serves the rest", (_, node, options, reason) => {
    const all = [...servers, aServer({ id: 3, ipv4: null })];
    const { targets, leftOut } = renderTargets([aNode(node), aNode({ id: 1 })], all, options);
    expect(targets).toMatchObject([{ serverId: 1 }]);
    expect(leftOut).toMatchObject([{ node: `node-${node.id}` }]);
    expect(leftOut[0]?.reason).toContain(reason);
  });

  it("does not report excluded nodes as left out", () => {
    expect(renderTargets([aNode({ id: 99, labels: { [EXCLUDE]: "" } })], servers, PUBLIC)).toEqual({
      targets: [],
      leftOut: [],
      beyondLimit: [],
    });
  });
});

describe("dedicated servers", () => {
  const addresses = [
    { type: "ExternalIP", address: "2001:db8::1" },
    { type: "ExternalIP", address: "203.0.113.50" },
    { type: "InternalIP", address: "10.0.0.50" },
  ];
  const robot = aNode({ name: "metal", providerID: "hrobot://50", addresses });
  const legacy = aNode({ name: "old", providerID: "hcloud://bm-51", addresses: addresses.slice(2) });
  const cloud = aNode({ id: 1 });
  const servers = [aServer({ id: 1, privateIp: "10.0.0.1" })];

  it("HCCM T1, T5, T6: are targets by their IPv4 address, after the servers", () => {
    expect(renderTargets([robot, cloud], servers, { ...PUBLIC, robots: true }).targets).toEqual([
      { kind: "server", serverId: 1, usePrivateIp: false },
      { kind: "ip", ip: "203.0.113.50" },
    ]);
  });

  it("unlike HCCM T7: have one target, private or public, never both", () => {
    expect(renderTargets([robot, legacy], servers, { ...PRIVATE, robots: true })).toEqual({
      targets: [{ kind: "ip", ip: "10.0.0.50" }],
      leftOut: [],
      beyondLimit: [],
    });
  });

  it("unlike HCCM T5: are left out rather than reached publicly when private was requested", () => {
    const lacking = aNode({ name: "lacking", providerID: "hrobot://52", addresses: addresses.slice(0, 2) });
    expect(renderTargets([lacking, cloud], servers, { ...PRIVATE, robots: true })).toMatchObject({
      targets: [{ serverId: 1 }],
      leftOut: [{ node: "lacking", reason: expect.stringContaining("InternalIP") }],
    });
  });

  it("HCCM T2: are ignored when Robot is off", () => {
    expect(renderTargets([robot], servers, PUBLIC)).toEqual({ targets: [], leftOut: [], beyondLimit: [] });
  });
});

describe("when there are more nodes than places", () => {
  const zoned = (id: number, zone: string) => aNode({ id, labels: { "topology.kubernetes.io/zone": zone } });
  const nodes = [zoned(1, "b"), zoned(2, "b"), zoned(3, "b"), zoned(4, "a"), zoned(5, "a")];
  const all = nodes.map((_, index) => aServer({ id: index + 1 }));
  const chosen = (from: typeof nodes, places: number) => {
    const { targets, beyondLimit } = renderTargets(from, all, { ...PUBLIC, places });
    return [targets.map((target) => target.kind === "server" && target.serverId), beyondLimit];
  };

  it("unlike HCCM T4: zones take turns, and the nodes left out are reported", () => {
    expect(chosen(nodes, 3)).toEqual([
      [1, 4, 5],
      ["node-2", "node-3"],
    ]);
  });

  it("unlike HCCM T4: the choice does not depend on the order of nodes, and a new node displaces none", () => {
    expect(chosen(nodes.toReversed(), 3)).toEqual(chosen(nodes, 3));
    const joined = renderTargets([...nodes, zoned(6, "a")], [...all, aServer({ id: 6 })], { ...PUBLIC, places: 3 });
    expect(joined.targets).toEqual(renderTargets(nodes, all, { ...PUBLIC, places: 3 }).targets);
  });

  it("uses all when there is room", () => {
    expect(chosen(nodes, 5)).toEqual([[1, 2, 3, 4, 5], []]);
    expect(chosen(nodes, 0)[0]).toEqual([]);
  });
});
