import { describe, expect, it } from "vitest";
import { decideNode, type NodeOptions } from "../../../../../controller/render/node/metadata.ts";
import { UNINITIALIZED_TAINT } from "../../../../../controller/render/node/patch.ts";
import { robotAddresses, robotFacts } from "../../../../../controller/render/node/robot.ts";
import type { RobotInventory, RobotServer } from "../../../../../controller/robot/api.ts";
import { aNode, aServer } from "../../../../support/builders.ts";

const METAL: RobotServer = {
  server_number: 5,
  server_name: "metal",
  server_ip: "203.0.113.5",
  server_ipv6_net: "2001:db8:5::",
  product: "AX41-NVMe",
  dc: "FSN1-DC8",
};
const LISTED: RobotInventory = { kind: "listed", servers: [METAL] };
const OPTIONS: NodeOptions = { addressFamily: "ipv4", zoneLabel: false };
const TAINT = { key: UNINITIALIZED_TAINT, effect: "NoSchedule" };
const decide = (
  node: Parameters<typeof aNode>[0],
  robots: RobotInventory = LISTED,
  options: Partial<NodeOptions> = {},
) => decideNode(aNode(node), { servers: [aServer({ id: 1 })], robots }, { ...OPTIONS, ...options });

describe("a node on a dedicated server", () => {
  it("HCCM N6, N11 to N13, K1: is initialised by its name", () => {
    expect(decide({ name: "metal", taints: [TAINT] })).toMatchObject({
      output: { providerID: "hrobot://5", kind: "robot", serverId: 5, podCIDRs: [] },
      kind: "ready",
      isInitialisation: true,
      warnings: [],
      patch: {
        providerId: "hrobot://5",
        taints: [],
        labels: {
          "node.kubernetes.io/instance-type": "AX41-NVMe",
          "beta.kubernetes.io/instance-type": "AX41-NVMe",
          "topology.kubernetes.io/region": "fsn1",
          "failure-domain.beta.kubernetes.io/region": "fsn1",
          "topology.kubernetes.io/zone": "fsn1-dc8",
          "failure-domain.beta.kubernetes.io/zone": "fsn1-dc8",
          "instance.hetzner.cloud/provided-by": "robot",
        },
        addresses: [
          { type: "Hostname", address: "metal" },
          { type: "ExternalIP", address: "203.0.113.5" },
        ],
      },
    });
  });

  it.each(["hrobot://5", "hcloud://bm-5"])("HCCM N1: is found by %s, which is not changed", (providerID) => {
    const verdict = decide({ name: "metal", providerID });
    expect(verdict).toMatchObject({ kind: "ready", warnings: [] });
    expect(verdict.kind === "ready" && verdict.patch).not.toHaveProperty("providerId");
  });

  it("unlike HCCM N5: is served under another name than Robot's, with a warning", () => {
    expect(decide({ name: "other", providerID: "hrobot://5" })).toMatchObject({
      kind: "ready",
      warnings: [{ reason: "RobotNameMismatch" }],
    });
  });

  it("HCCM N6: is refused when a cloud server has the same name", () => {
    const robots: RobotInventory = { kind: "listed", servers: [{ ...METAL, server_name: "node-1" }] };
    expect(decide({ name: "node-1" }, robots)).toMatchObject({
      kind: "refused",
      reason: expect.stringContaining("both"),
    });
  });

  it.each<[string, RobotInventory, string, boolean]>([
    ["HCCM N4: Robot is off", { kind: "off" }, "ROBOT_ENABLED", true],
    ["Robot cannot be read", { kind: "unreadable", reason: "rate limit" }, "rate limit", false],
    ["Robot does not list it", { kind: "listed", servers: [] }, "ROBOT_USER", false],
  ])("%s: is refused with the cause, without the advice to delete it", (_, robots, word, isFinal) => {
    const verdict = decide({ providerID: "hrobot://5" }, robots);
    expect(verdict).toMatchObject({ kind: "refused", reason: expect.stringContaining(word), isFinal });
    expect(JSON.stringify(verdict)).not.toContain("delete");
  });

  it("does not affect cloud servers", () => {
    expect(decide({ name: "node-1" }, { kind: "unreadable", reason: "x" })).toMatchObject({
      patch: { providerId: "hcloud://1" },
    });
  });

  it("is not taken for a cloud server of another name while Robot cannot be read", () => {
    const verdict = decide({ name: "metal" }, { kind: "unreadable", reason: "rate limit" });
    const reason = 'no cloud server is named "metal", and Robot cannot be read: rate limit';
    expect(verdict).toEqual({ kind: "refused", reason, isFinal: false });
  });
});

describe("internal addresses of a dedicated server", () => {
  const addresses = [
    { type: "InternalIP", address: "10.0.0.5" },
    { type: "InternalIP", address: "203.0.113.5" },
    { type: "InternalIP", address: "fd00::5" },
  ];
  const written = (options: Partial<NodeOptions>) => {
    const verdict = decide({ name: "metal", addresses }, LISTED, options);
    if (verdict.kind !== "ready") throw new Error(verdict.kind);
    const internal = (verdict.patch.addresses ?? []).filter(({ type }) => type === "InternalIP");
    return [internal.map(({ address }) => address), verdict.warnings.map(({ reason }) => reason)];
  };

  it("HCCM N10: are kept when they are plausible, and reported when they are not", () => {
    expect(written({})).toEqual([["10.0.0.5"], ["MisconfiguredInternalIP"]]);
    expect(written({ addressFamily: "dualstack" })).toEqual([["10.0.0.5", "fd00::5"], ["MisconfiguredInternalIP"]]);
  });

  it("HCCM N10: are reported in one Event, however many are implausible", () => {
    const verdict = decide({ name: "metal", addresses });
    const [warning] = verdict.kind === "ready" ? verdict.warnings : [];
    for (const address of ["203.0.113.5", "fd00::5"]) expect(warning?.message).toContain(address);
  });

  it("HCCM E30: are not kept when that is disabled", () => {
    expect(written({ forwardInternalIps: false })).toEqual([[], []]);
  });

  it("HCCM N16: come first when kubelet's --node-ip names them", () => {
    const annotations = { "alpha.kubernetes.io/provided-node-ip": "10.0.0.5" };
    const verdict = decide({ name: "metal", annotations, addresses: addresses.slice(0, 1) });
    expect(verdict).toMatchObject({ patch: { addresses: [{ type: "InternalIP" }, {}, {}] } });
    expect(decide({ name: "metal", annotations })).toMatchObject({ kind: "refused" });
  });
});

describe("robotAddresses", () => {
  it.each([
    ["dualstack", METAL, ["metal", "2001:db8:5::1", "203.0.113.5"]],
    ["ipv6", METAL, ["metal", "2001:db8:5::1"]],
    ["dualstack", { ...METAL, server_ipv6_net: "" }, ["metal", "203.0.113.5"]],
    ["dualstack", { ...METAL, server_ipv6_net: null, server_ip: null }, ["metal"]],
    ["ipv6", { ...METAL, server_ipv6_net: "2001:db8:5::/64" }, ["metal", "2001:db8:5::1"]],
  ] as const)("unlike HCCM N9 (a server without IPv6 gets none): %s", (family, server, expected) => {
    expect(robotAddresses(server, { addressFamily: family }).map(({ address }) => address)).toEqual(expected);
  });
});

describe("a dedicated server whose node declares its IPv6 address (HCCM P18)", () => {
  const annotations = { "instance.hetzner.cloud/external-ipv6": "2001:db8:9::5" };
  const withoutIpv6: RobotInventory = { kind: "listed", servers: [{ ...METAL, server_ipv6_net: null }] };
  const external = (verdict: ReturnType<typeof decide>) =>
    (verdict.kind === "ready" ? (verdict.patch.addresses ?? []) : [])
      .filter(({ type }) => type === "ExternalIP")
      .map(({ address }) => address);

  it.each([
    ["in place of the first of its network", LISTED],
    ["also when Robot knows of no network", withoutIpv6],
  ])("has it, %s", (_, robots) => {
    const verdict = decide({ name: "metal", annotations }, robots, { addressFamily: "dualstack" });
    expect(external(verdict)).toEqual(["2001:db8:9::5", "203.0.113.5"]);
  });

  it("does not have it a second time as its internal address", () => {
    const addresses = [{ type: "InternalIP", address: "2001:db8:9::5" }];
    const verdict = decide({ name: "metal", annotations, addresses }, LISTED, { addressFamily: "ipv6" });
    expect(verdict).toMatchObject({ warnings: [{ reason: "MisconfiguredInternalIP" }] });
    expect(external(verdict)).toEqual(["2001:db8:9::5"]);
  });

  it("is refused when it is not an address", () => {
    const wrong = { "instance.hetzner.cloud/external-ipv6": "::1" };
    const verdict = decide({ name: "metal", annotations: wrong }, LISTED, { addressFamily: "dualstack" });
    expect(verdict).toMatchObject({ kind: "refused", event: "InvalidExternalIPv6" });
  });
});

it.each([
  ["EX 44 (Ltd.)", "EX-44-Ltd."],
  ["Server Auction", "Server-Auction"],
])("HCCM N11: product %s becomes type %s, as far as a label value allows", (product, type) => {
  expect(robotFacts({ ...METAL, product }).instanceType).toBe(type.replace(/\W+$/, ""));
});
