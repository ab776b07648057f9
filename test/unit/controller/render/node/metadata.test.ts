import { describe, expect, it } from "vitest";
import { decideCloudNode, findServer, type NodeOptions } from "../../../../../controller/render/node/metadata.ts";
import { UNINITIALIZED_TAINT } from "../../../../../controller/render/node/patch.ts";
import { aNode, aServer, NETWORK_ID } from "../../../../support/builders.ts";

const OPTIONS: NodeOptions = { addressFamily: "ipv4", zoneLabel: true, networkId: NETWORK_ID };
const TAINT = { key: UNINITIALIZED_TAINT, value: "true", effect: "NoSchedule" };
const SERVER = aServer({ id: 12, name: "worker", type: "cx32", location: "nbg1", privateIp: "10.0.0.2" });
const LABELS = {
  "node.kubernetes.io/instance-type": "cx32",
  "beta.kubernetes.io/instance-type": "cx32",
  "topology.kubernetes.io/region": "nbg1",
  "failure-domain.beta.kubernetes.io/region": "nbg1",
  "topology.kubernetes.io/zone": "nbg1-dc3",
  "failure-domain.beta.kubernetes.io/zone": "nbg1-dc3",
  "instance.hetzner.cloud/provided-by": "cloud",
};
const ADDRESSES = [
  { type: "Hostname", address: "worker" },
  { type: "ExternalIP", address: "203.0.113.12" },
  { type: "InternalIP", address: "10.0.0.2" },
];
const INITIALISED = { name: "worker", id: 12, labels: LABELS, addresses: ADDRESSES };

describe("findServer (HCCM N3, N6)", () => {
  const servers = [aServer({ id: 1, name: "a" }), aServer({ id: 2, name: "b" })];
  it.each([
    ["by ProviderID, whatever its name", aNode({ name: "a", id: 2 }), 2],
    ["by name without a ProviderID", aNode({ name: "a" }), 1],
    ["not by name when the ProviderID is another's", aNode({ name: "a", id: 3 }), undefined],
    ["not for a dedicated server", aNode({ name: "a", providerID: "hrobot://1" }), undefined],
    ["not for another provider's node", aNode({ name: "a", providerID: "k3s://a" }), undefined],
    ["not for a broken ProviderID", aNode({ name: "a", providerID: "hcloud://a" }), undefined],
  ])("finds it %s", (_, node, id) => {
    expect(findServer(node, servers)?.id).toBe(id);
  });
});

describe("decideCloudNode", () => {
  it("HCCM K2 to K4, K7, framework N01, N03, N05: a tainted node gets ProviderID, labels and addresses, and loses the taint", () => {
    const node = aNode({ name: "worker", taints: [TAINT], addresses: [{ type: "Hostname", address: "old" }] });
    expect(decideCloudNode(node, [SERVER], OPTIONS)).toEqual({
      kind: "ready",
      output: {
        providerID: "hcloud://12",
        kind: "cloud",
        serverId: 12,
        labels: LABELS,
        addresses: ADDRESSES,
        podCIDRs: [],
      },
      isInitialisation: true,
      warnings: [],
      patch: { providerId: "hcloud://12", labels: LABELS, taints: [], addresses: ADDRESSES },
    });
  });

  it("framework N04, N21, N23: writes nothing to a node that is up to date", () => {
    expect(decideCloudNode(aNode(INITIALISED), [SERVER], OPTIONS)).toMatchObject({
      patch: {},
      isInitialisation: false,
    });
  });

  it("framework N06: keeps other taints in their order", () => {
    const first = { key: "a", effect: "NoSchedule" };
    const last = { key: "b", effect: "NoExecute" };
    const node = aNode({ ...INITIALISED, taints: [first, TAINT, last] });
    expect(decideCloudNode(node, [SERVER], OPTIONS)).toMatchObject({ patch: { taints: [first, last] } });
  });

  it.each([
    ["another effect", { ...TAINT, effect: "NoExecute" }],
    ["another value", { ...TAINT, value: "x" }],
    ["no value", { key: UNINITIALIZED_TAINT, effect: "NoSchedule" }],
  ])("framework N34: matches the taint by its key, with %s", (_, taint) => {
    const verdict = decideCloudNode(aNode({ ...INITIALISED, taints: [taint] }), [SERVER], OPTIONS);
    expect(verdict).toMatchObject({ isInitialisation: true, patch: { taints: [] } });
  });

  it("framework N11, N13: never replaces a ProviderID", () => {
    const node = aNode({ ...INITIALISED, taints: [TAINT] });
    const verdict = decideCloudNode(node, [SERVER], OPTIONS);
    expect(verdict).toMatchObject({ kind: "ready" });
    expect(verdict.kind === "ready" && verdict.patch).not.toHaveProperty("providerId");
  });

  it("framework N31: follows a changed address without touching anything else", () => {
    const moved = { ...SERVER, public_net: { ...SERVER.public_net, ipv4: { ip: "203.0.113.99" } } };
    const verdict = decideCloudNode(aNode(INITIALISED), [moved], OPTIONS);
    expect(verdict.kind === "ready" && Object.keys(verdict.patch)).toEqual(["addresses"]);
  });

  it("unlike HCCM N15, unlike framework N32: follows a resized server", () => {
    const verdict = decideCloudNode(aNode(INITIALISED), [{ ...SERVER, server_type: { name: "cx42" } }], OPTIONS);
    expect(verdict.kind === "ready" && verdict.patch).toEqual({
      labels: { "node.kubernetes.io/instance-type": "cx42", "beta.kubernetes.io/instance-type": "cx42" },
    });
  });

  it("HCCM K1: never overwrites the label provided-by", () => {
    const labels = { ...LABELS, "instance.hetzner.cloud/provided-by": "robot" };
    expect(decideCloudNode(aNode({ ...INITIALISED, labels }), [SERVER], OPTIONS)).toMatchObject({ patch: {} });
  });

  it("leaves labels of others alone", () => {
    const labels = { ...LABELS, "example.com/rack": "r1" };
    expect(decideCloudNode(aNode({ ...INITIALISED, labels }), [SERVER], OPTIONS)).toMatchObject({ patch: {} });
  });

  it.each([
    ["nbg1", "nbg1-dc3"],
    ["hel1", "hel1-dc2"],
    ["fsn1", "fsn1-dc14"],
    ["ash", "ash-dc1"],
    ["hil", "hil-dc1"],
    ["sin", "sin-dc1"],
    ["new1", "new1"],
  ])("HCCM N13: names the zone of %s %s", (location, zone) => {
    const verdict = decideCloudNode(aNode({ name: "worker" }), [aServer({ name: "worker", location })], OPTIONS);
    expect(verdict).toMatchObject({ patch: { labels: { "topology.kubernetes.io/zone": zone } } });
  });

  it("HCCM E8: writes no zone when that is disabled", () => {
    const verdict = decideCloudNode(aNode({ name: "worker" }), [SERVER], { ...OPTIONS, zoneLabel: false });
    const labels = verdict.kind === "ready" ? Object.keys(verdict.patch.labels ?? {}) : [];
    expect(labels).toHaveLength(5);
    expect(labels.filter((key) => key.endsWith("/zone"))).toEqual([]);
  });

  it("HCCM K9, framework N08: puts kubelet's address first", () => {
    const annotations = { "alpha.kubernetes.io/provided-node-ip": "10.0.0.2" };
    const [hostname, external, internal] = ADDRESSES;
    expect(decideCloudNode(aNode({ ...INITIALISED, annotations }), [SERVER], OPTIONS)).toMatchObject({
      patch: { addresses: [internal, hostname, external] },
    });
  });

  it("HCCM P18: uses the IPv6 address that the node declares, which may also be kubelet's --node-ip", () => {
    const stated = { "instance.hetzner.cloud/external-ipv6": "2001:db8:12::5" };
    const annotations = { ...stated, "alpha.kubernetes.io/provided-node-ip": "2001:db8:12::5" };
    const dualstack: NodeOptions = { ...OPTIONS, addressFamily: "dualstack" };
    expect(decideCloudNode(aNode({ ...INITIALISED, annotations }), [SERVER], dualstack)).toMatchObject({
      patch: { addresses: [{ type: "ExternalIP", address: "2001:db8:12::5" }, ADDRESSES[0], ADDRESSES[2]] },
    });
    expect(decideCloudNode(aNode({ ...INITIALISED, annotations: stated }), [SERVER], OPTIONS)).toMatchObject({
      patch: {},
      warnings: [{ reason: "IgnoredExternalIPv6" }],
    });
  });

  it("HCCM N2: ignores other providers' nodes", () => {
    expect(decideCloudNode(aNode({ providerID: "aws:///x/i-1" }), [SERVER], OPTIONS)).toEqual({
      kind: "foreign",
      providerId: "aws:///x/i-1",
    });
  });

  it.each([
    ["a broken ProviderID", { providerID: "hcloud://x" }, ["hcloud://x", "hcloud://<server id>"]],
    ["a server that is gone", { id: 99 }, ["hcloud://99", "HCLOUD_TOKEN"]],
    ["a name that no server has", { name: "other" }, ['"other"', "name the Node like its server"]],
    [
      "framework N10: an address that is not the server's",
      { id: 12, annotations: { "alpha.kubernetes.io/provided-node-ip": "10.9.9.9" } },
      ["10.9.9.9", "10.0.0.2"],
    ],
    [
      "framework N09: an annotation that is no address",
      { id: 12, annotations: { "alpha.kubernetes.io/provided-node-ip": "invalid-ip" } },
      ["invalid-ip"],
    ],
  ])("refuses %s with the cause and the remedy", (_, node, words) => {
    const verdict = decideCloudNode(aNode({ ...node, taints: [TAINT] }), [SERVER], OPTIONS);
    expect(verdict).toMatchObject({ kind: "refused" });
    for (const word of words) expect(verdict.kind === "refused" && verdict.reason).toContain(word);
  });

  it("HCCM N16: names HCLOUD_NETWORK when a private --node-ip cannot match without it", () => {
    const annotations = { "alpha.kubernetes.io/provided-node-ip": "10.0.0.2" };
    const withoutNetwork: NodeOptions = { addressFamily: "ipv4", zoneLabel: true };
    const verdict = decideCloudNode(aNode({ id: 12, annotations }), [SERVER], withoutNetwork);
    expect(verdict.kind === "refused" && verdict.reason).toContain("HCLOUD_NETWORK");
  });
});

describe("an InternalIP that is removed", () => {
  const lost = [{ type: "InternalIP", address: "10.0.0.2" }];
  const reasons = (node: Parameters<typeof aNode>[0], options: Partial<NodeOptions> = {}) => {
    const verdict = decideCloudNode(aNode(node), [SERVER], { addressFamily: "ipv4", zoneLabel: true, ...options });
    return verdict.kind === "ready" ? verdict.warnings.map(({ reason }) => reason) : [];
  };
  it.each([
    ["an initialised node", { id: 12, addresses: lost }],
    ["a new node, whose server is in some network", { name: "worker", taints: [TAINT], addresses: lost }],
  ])("without HCLOUD_NETWORK is warned about on %s", (_, node) => {
    expect(reasons(node)).toEqual(["InternalIPRemoved"]);
    expect(reasons(node, { networkId: NETWORK_ID })).toEqual([]);
  });

  it("causes no warning when kubelet guessed it on a node outside any network", () => {
    const guess = [{ type: "InternalIP", address: "203.0.113.12" }];
    expect(reasons({ name: "worker", taints: [TAINT], addresses: guess })).toEqual([]);
  });
});
