import type { V1ServicePort } from "@kubernetes/client-node";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { renderLoadBalancer } from "../../../../../controller/render/service/load-balancer.ts";
import { OPTIONS } from "../../../../../controller/render/service/options/annotations.ts";
import { type BalancerContext, defaultName } from "../../../../../controller/render/service/wanted.ts";
import { differences } from "../../../../../stacks/units/difference.ts";
import type { LoadBalancerSpec, LoadBalancerState } from "../../../../../stacks/units/spec.ts";
import {
  aBalancerState,
  aListener,
  aNetwork,
  aNode,
  aServer,
  aService,
  NETWORK_ID,
  UID,
} from "../../../../support/builders.ts";
import { aCatalogue } from "../../../../support/catalogue.ts";
import { NO_CERTIFICATES, NO_LISTS } from "../../../../support/certificates.ts";
import { hostileText } from "../../../../support/hostile.ts";

const DEFAULT_NAME = "a0c7e1a529d3b4f608a715b2e6f4d9c1";
const CONTEXT: BalancerContext = {
  nodes: [],
  servers: [],
  defaults: { location: "fsn1" },
  certificates: NO_LISTS,
};
const IN_NETWORK: BalancerContext = { ...CONTEXT, networkId: NETWORK_ID };

function rendered(annotations: Record<string, string>, context = CONTEXT) {
  const balancer = renderLoadBalancer(aService({ annotations }), context);
  if (!balancer.ok) throw new Error(balancer.mistakes.join("; "));
  return balancer;
}

function specOf(annotations: Record<string, string>, context = CONTEXT): LoadBalancerSpec {
  return rendered(annotations, context).spec;
}

function mistakesOf(annotations: Record<string, string>, context = CONTEXT): readonly string[] {
  const rendered = renderLoadBalancer(aService({ annotations }), context);
  expect(rendered.ok).toBe(rendered.mistakes.length === 0);
  return rendered.mistakes;
}

describe("a Service without a TCP port (W22)", () => {
  const render = (ports: V1ServicePort[], context = CONTEXT) => {
    const service = aService();
    return renderLoadBalancer({ ...service, spec: { ...service.spec, ports } }, context);
  };

  it.each([
    ["no ports", []],
    ["only UDP ports", [{ port: 53, nodePort: 30_053, protocol: "UDP" }]],
  ])("gets no load balancer that would serve nothing: %s", (found, ports) => {
    expect(render(ports)).toMatchObject({
      ok: false,
      mistakes: [
        `the Service has ${found}, and Hetzner load balancers forward TCP only: no load balancer is created; add a TCP port, or change spec.type`,
      ],
    });
  });

  it("keeps a load balancer that exists", () => {
    expect(render([], { ...CONTEXT, existing: aBalancerState() }).ok).toBe(true);
  });
});

describe("renderLoadBalancer", () => {
  it("renders a load balancer from a Service without annotations", () => {
    const context = { ...CONTEXT, nodes: [aNode({ id: 1 })], servers: [aServer({ id: 1 })] };
    expect(renderLoadBalancer(aService({ ports: [80] }), context)).toEqual({
      ok: true,
      spec: {
        kind: "load-balancer",
        service: { namespace: "default", name: "web", uid: UID },
        name: DEFAULT_NAME,
        type: "lb11",
        place: { location: "fsn1" },
        algorithm: "round_robin",
        labels: { "hcloud-ccm/service-uid": UID },
        deleteProtection: false,
        listeners: [aListener(80)],
        targets: [{ kind: "server", serverId: 1, usePrivateIp: false }],
      },
      settings: expect.objectContaining({ options: { location: "fsn1" } }),
      mistakes: [],
      notes: [],
      leftOut: [],
      certificates: NO_CERTIFICATES,
    });
  });

  it("HCCM A1: names it after the uid, cut to 32 characters", () => {
    expect(defaultName(UID)).toBe(DEFAULT_NAME);
    expect(defaultName("short")).toBe("ashort");
  });

  it.each([
    ["A1: its own name", { name: "edge" }, { name: "edge" }],
    ["A1: an empty name is the default one", { name: "" }, { name: DEFAULT_NAME }],
    ["A4: its type", { type: "lb31" }, { type: "lb31" }],
    ["A4: an empty type counts as not set", { type: "" }, { type: "lb11" }],
    ["A5: its algorithm", { "algorithm-type": "least_connections" }, { algorithm: "least_connections" }],
    ["A2: its location", { location: "hel1" }, { place: { location: "hel1" } }],
    [
      "A3: a zone, once the location is cancelled",
      { location: "", "network-zone": "eu-central" },
      { place: { networkZone: "eu-central" } },
    ],
    ["A2: location before zone", { location: "hel1", "network-zone": "eu-central" }, { place: { location: "hel1" } }],
  ])("HCCM %s", (_, annotations, expected) => {
    expect(specOf(annotations)).toMatchObject(expected);
  });

  it.each([
    ["attached to the network whenever there is one (S13g)", {}, { networkId: NETWORK_ID, publicInterface: true }],
    [
      "A6: without public interface",
      { "disable-public-network": "true", "use-private-ip": "true" },
      { networkId: NETWORK_ID, publicInterface: false },
    ],
    [
      "A9: with its address",
      { "private-ipv4": "10.0.0.9" },
      { networkId: NETWORK_ID, publicInterface: true, ip: "10.0.0.9" },
    ],
  ])("HCCM %s", (_, annotations, network) => {
    expect(specOf(annotations, IN_NETWORK).network).toEqual(network);
  });

  it("has no attachment without a network", () => {
    expect(specOf({})).not.toHaveProperty("network");
  });

  describe("for an existing load balancer", () => {
    const existing = aBalancerState({
      location: "nbg1",
      type: "lb21",
      deleteProtection: true,
      labels: { team: "a", "hcloud-ccm/service-uid": "stale" },
    });
    const context = { ...CONTEXT, existing };

    it("HCCM A2: stays where it is, and needs no location", () => {
      expect(specOf({ location: "hel1" }, context).place).toEqual({ location: "nbg1" });
      expect(specOf({}, { ...context, defaults: {} }).place).toEqual({ location: "nbg1" });
    });

    it("HCCM A4: keeps its type unless one is set", () => {
      expect(specOf({}, context).type).toBe("lb21");
      expect(specOf({ type: "lb31" }, context).type).toBe("lb31");
    });

    it("HCCM S13a: keeps foreign labels and replaces a stale owner", () => {
      expect(specOf({}, context).labels).toEqual({ team: "a", "hcloud-ccm/service-uid": UID });
    });

    it("HCCM A1: is renamed when a name is set, and keeps its name when that is removed", () => {
      expect(specOf({ name: "edge" }, context).name).toBe("edge");
      expect(specOf({}, context).name).toBe("balancer");
    });

    it("keeps its delete protection", () => {
      expect(specOf({}, context).deleteProtection).toBe(true);
    });
  });

  describe("for an existing load balancer, with mistakes", () => {
    const existing = aBalancerState({
      type: "lb21",
      algorithm: "least_connections",
      publicInterface: false,
      network: { networkId: NETWORK_ID, ip: "10.0.0.9" },
      listeners: [aListener(80, { protocol: "http" })],
      targets: [{ kind: "server", serverId: 1, usePrivateIp: true }],
    });
    const nodes = [1, 2].map((id) => aNode({ id }));
    const servers = [1, 2].map((id) => aServer({ id, privateIp: `10.0.0.${id}` }));
    const context = { ...IN_NETWORK, existing, nodes, servers };
    const keptSpec = (annotations: Record<string, string>) => {
      const rendered = renderLoadBalancer(aService({ annotations }), context);
      expect(rendered.mistakes).toHaveLength(1);
      if (!rendered.ok) throw new Error("not rendered");
      return rendered.spec;
    };

    it.each([
      ["its algorithm", { "algorithm-type": "x" }, { algorithm: "least_connections" }],
      ["its interface", { "disable-public-network": "x" }, { network: { publicInterface: false } }],
      [
        "its way to the nodes",
        { "use-private-ip": "x" },
        { targets: [{ usePrivateIp: true }, { usePrivateIp: true }] },
      ],
      ["its targets", { "node-selector": "a=b=c" }, { targets: [{ serverId: 1 }] }],
      ["its listener", { protocol: "x" }, { listeners: [{ protocol: "http" }] }],
      ["unlike HCCM A9: its address", { "private-ipv4": "10.0.0.300" }, { network: { networkId: NETWORK_ID } }],
    ])("keeps %s, and updates the rest", (_, annotations, expected) => {
      const spec = keptSpec({ type: "lb31", ...annotations });
      expect(spec).toMatchObject({ type: "lb31", ...expected });
      expect(spec.network).not.toHaveProperty("ip");
    });

    it("updates its targets", () => {
      expect(keptSpec({ protocol: "x" }).targets).toHaveLength(2);
    });

    describe("such as a missing HCLOUD_NETWORK", () => {
      const { networkId: _, ...unconfigured } = context;
      const render = (given: Partial<BalancerContext> = {}, annotations: Record<string, string> = {}) =>
        rendered({ "use-private-ip": "true", ...annotations }, { ...unconfigured, ...given });

      it("keeps private targets whose Nodes exist, and adds none that cannot be checked", () => {
        const { mistakes, spec, leftOut } = render();
        expect(mistakes).toEqual([expect.stringContaining("HCLOUD_NETWORK is not set")]);
        expect(spec.targets).toEqual(existing.targets);
        expect(leftOut).toEqual([{ node: "node-2", reason: expect.stringContaining("HCLOUD_NETWORK is not set") }]);
      });

      it("keeps them also when use-private-ip is set for all Services, or cannot be read", () => {
        const defaults = { location: "fsn1", usePrivateIp: true };
        expect(specOf({}, { ...unconfigured, defaults }).targets).toEqual(existing.targets);
        expect(render({}, { "use-private-ip": "x" }).spec.targets).toEqual(existing.targets);
      });

      it("adds no public targets where there are none yet", () => {
        const { spec, leftOut } = render({ existing: { ...existing, targets: [] } });
        expect(spec.targets).toEqual([]);
        expect(leftOut).toHaveLength(2);
      });

      it("still removes targets with their Nodes", () => {
        expect(render({ nodes: nodes.slice(1) }).spec.targets).toEqual([]);
      });

      it("gives a Node that cannot be checked no place of one that is a target", () => {
        const zoned = nodes.map((node, index) => ({
          ...node,
          metadata: { ...node.metadata, labels: { "topology.kubernetes.io/zone": index === 0 ? "b" : "a" } },
        }));
        const catalogue = aCatalogue();
        const types = catalogue.types.map((type) => ({ ...type, max_targets: 1 }));
        const { spec } = render({ nodes: zoned, catalogue: { ...catalogue, types } });
        expect(spec.targets).toEqual(existing.targets);
      });

      it("keeps dedicated servers at their private addresses, also where there are no others", () => {
        const robots = true;
        const addresses = [
          { type: "InternalIP", address: "10.0.0.50" },
          { type: "ExternalIP", address: "203.0.113.50" },
        ];
        const metal = [50, 51].map((id) =>
          aNode({
            name: `metal-${id}`,
            providerID: `hrobot://${id}`,
            addresses: addresses.map((one) => ({ ...one, address: one.address.replace("50", String(id)) })),
          }),
        );
        const targets = [{ kind: "ip", ip: "10.0.0.50" }] as const;
        const { spec, leftOut } = render({ robots, nodes: metal, existing: { ...existing, targets } });
        expect(spec.targets).toEqual(targets);
        expect(leftOut).toMatchObject([{ node: "metal-51" }]);
      });
    });
  });

  it("names the variable that set an option, not an absent annotation", () => {
    const defaults = { location: "fsn1", usePrivateIp: true };
    expect(mistakesOf({}, { ...CONTEXT, defaults })).toEqual([
      "HCLOUD_LOAD_BALANCERS_USE_PRIVATE_IP: requires a network, but HCLOUD_NETWORK is not set",
    ]);
  });

  it.each([
    ["no place", {}, { ...CONTEXT, defaults: {} }, ["location", "network-zone", "HCLOUD_LOAD_BALANCERS_LOCATION"]],
    [
      "A11: private targets without a network",
      { "use-private-ip": "true" },
      CONTEXT,
      ["use-private-ip", "HCLOUD_NETWORK"],
    ],
    [
      "A6: no public interface without a network",
      { "disable-public-network": "true" },
      CONTEXT,
      ["disable-public-network", "HCLOUD_NETWORK"],
    ],
    [
      "A9: a private address without a network",
      { "private-ipv4": "10.0.0.1" },
      CONTEXT,
      ["private-ipv4", "HCLOUD_NETWORK"],
    ],
    ["A15: a selector that cannot be read", { "node-selector": "a=b=c" }, CONTEXT, ["node-selector", '"a=b=c"']],
    ["A16: https without certificates", { protocol: "https" }, CONTEXT, ["protocol", "certificates"]],
    ["A21: a redirect without https", { "http-redirect-http": "true" }, CONTEXT, ["http-redirect-http", "https"]],
  ])("refuses %s", (_, annotations, context, words) => {
    const mistakes = mistakesOf(annotations, context);
    expect(mistakes).toHaveLength(1);
    for (const word of words) expect(mistakes[0]).toContain(word);
  });

  describe("against its existing load balancer", () => {
    const existing = aBalancerState({ name: "web", labels: { team: "ops", "hcloud-ccm/service-uid": UID } });
    const around = {
      ...CONTEXT,
      existing,
      balancerIds: new Map([
        ["web", existing.id],
        ["api", 77],
      ]),
    };

    it.each([
      ["a name that another one has", { name: "api" }, "load balancer 77 has this name already"],
      ["a label that was set elsewhere", { labels: "team=mine" }, 'team of load balancer "web" has another value'],
    ])("refuses %s, and keeps its own", (_, annotations, words) => {
      const rendered = renderLoadBalancer(aService({ annotations }), around);
      expect(rendered.mistakes).toEqual([expect.stringMatching(/^annotation load-balancer.hetzner.cloud\//)]);
      expect(rendered.mistakes[0]).toContain(words);
      expect(rendered).toMatchObject({ spec: { name: "web", labels: { team: "ops" } } });
    });

    it("accepts its own name, and one that is free", () => {
      expect(specOf({ name: "web" }, around).name).toBe("web");
      expect(specOf({ name: "new" }, around).name).toBe("new");
    });
  });

  describe("against the network and the catalogue", () => {
    const subnets = ["10.0.1.0/24", "10.0.2.0/24"].map((ip_range) => ({ ip_range, network_zone: "eu-central" }));
    const network = aNetwork({ ip_range: "10.0.0.0/16", subnets });
    const takenIps = new Set(["10.0.1.7"]);
    const around = { ...IN_NETWORK, network, takenIps, catalogue: aCatalogue() };

    it.each([
      ["A4: an unknown type", { type: "lb99" }, "lb1, lb11, lb21, lb31"],
      ["A2: an unknown location", { location: "moon" }, "fsn1, nbg1, hel1, ash"],
      ["A3: an unknown zone", { location: "", "network-zone": "moon" }, "eu-central, us-east"],
      ["A10: an unknown subnet", { "private-subnet-ip-range": "10.0.3.0/24" }, "10.0.1.0/24, 10.0.2.0/24"],
      ["A9: an address outside of the network", { "private-ipv4": "10.9.0.1" }, "10.0.1.0/24, 10.0.2.0/24"],
      ["A9: an address that is in use", { "private-ipv4": "10.0.1.7" }, "another server or load balancer"],
      ["A9: a reserved address", { "private-ipv4": "10.0.1.255" }, "reserved"],
      [
        "A9: an address outside of the subnet",
        { "private-ipv4": "10.0.1.5", "private-subnet-ip-range": "10.0.2.0/24" },
        "10.0.2.0/24",
      ],
      ["A6: no public interface, and public targets", { "disable-public-network": "true" }, "use-private-ip"],
    ])("refuses %s before the first change", (_, annotations, words) => {
      const mistakes = mistakesOf(annotations, around);
      expect(mistakes).toHaveLength(1);
      expect(mistakes[0]).toMatch(/^annotation load-balancer.hetzner.cloud\//);
      expect(mistakes[0]).toContain(words);
    });

    it("refuses the gateway of all public interfaces, which no network gives away", () => {
      const subnets = [{ ip_range: "172.31.0.0/16", network_zone: "eu-central" }];
      const wide = { ...around, network: aNetwork({ ip_range: "172.16.0.0/12", subnets }) };
      const existing = aBalancerState({ network: { networkId: NETWORK_ID, ip: "172.31.0.2" } });
      const annotations = { "private-ipv4": "172.31.1.1" };
      const rendered = renderLoadBalancer(aService({ annotations }), { ...wide, existing });
      expect(rendered.mistakes).toEqual([expect.stringContaining("172.31.1.1 is reserved")]);
      expect(rendered.ok && rendered.spec.network).toEqual({ networkId: NETWORK_ID, publicInterface: true });
    });

    it("keeps an attachment rather than ask for a vSwitch subnet, which has addresses for dedicated servers only", () => {
      const vswitch = { type: "vswitch", ip_range: "10.0.9.0/24", network_zone: "eu-central" };
      const coupled = { ...around, network: { ...network, subnets: [...subnets, vswitch] } };
      const existing = aBalancerState({ network: { networkId: NETWORK_ID, ip: "10.0.1.9", subnet: "10.0.1.0/24" } });
      for (const annotations of [{ "private-ipv4": "10.0.9.5" }, { "private-subnet-ip-range": "10.0.9.0/24" }]) {
        const rendered = renderLoadBalancer(aService({ annotations }), { ...coupled, existing });
        expect(rendered.mistakes).toEqual([expect.stringMatching(/ are 10\.0\.1\.0\/24, 10\.0\.2\.0\/24$/)]);
        expect(rendered.ok && rendered.spec.network).toEqual({ networkId: NETWORK_ID, publicInterface: true });
      }
    });

    it.each([{ location: "ash" }, { location: "", "network-zone": "us-east" }])(
      "creates none where the network has no subnet: %j",
      (annotations) => {
        expect(mistakesOf(annotations, around)).toEqual([
          expect.stringContaining("network cluster has no subnet in network zone us-east"),
        ]);
        const existing = aBalancerState();
        expect(rendered(annotations, { ...around, existing }).mistakes).toEqual([]);
      },
    );

    it("HCCM A9, A10: attaches with address and subnet", () => {
      const annotations = { "private-ipv4": "10.0.1.5", "private-subnet-ip-range": "10.0.1.0/24" };
      expect(specOf(annotations, around).network).toMatchObject({ ip: "10.0.1.5", subnet: "10.0.1.0/24" });
    });

    it("keeps the attachment when address or subnet is invalid", () => {
      const existing = aBalancerState({ network: { networkId: NETWORK_ID, ip: "10.0.1.9", subnet: "10.0.1.0/24" } });
      for (const annotations of [{ "private-ipv4": "10.9.0.1" }, { "private-subnet-ip-range": "10.0.3.0/24" }]) {
        const rendered = renderLoadBalancer(aService({ annotations }), { ...around, existing });
        expect(rendered.ok && rendered.spec.network).toEqual({ networkId: NETWORK_ID, publicInterface: true });
      }
    });

    it("accepts the address that the load balancer already has", () => {
      const existing = aBalancerState({ network: { networkId: NETWORK_ID, ip: "10.0.1.7" } });
      expect(specOf({ "private-ipv4": "10.0.1.7" }, { ...around, existing }).network?.ip).toBe("10.0.1.7");
    });

    it("ignores a subnet for all Services without a network", () => {
      const defaults = { location: "fsn1", privateSubnet: "10.0.1.0/24" };
      expect(mistakesOf({}, { ...CONTEXT, defaults })).toEqual([]);
    });

    it("unlike HCCM A4: keeps updating an existing load balancer with an unknown type", () => {
      const existing = aBalancerState({ type: "lb-gone" });
      expect(specOf({}, { ...around, existing }).type).toBe("lb-gone");
    });

    it("refuses more ports than the type has room for, with the limit", () => {
      const service = aService({ ports: [1, 2, 3, 4, 5, 6] });
      const rendered = renderLoadBalancer(service, around);
      expect(rendered).toMatchObject({
        ok: false,
        mistakes: [expect.stringMatching(/6 ports .* lb11 only has room for 5/)],
      });
      const existing = aBalancerState({ listeners: [aListener(6)] });
      const kept = renderLoadBalancer(service, { ...around, existing });
      expect(kept.ok && kept.spec.listeners.map(({ listenPort }) => listenPort)).toEqual([1, 2, 3, 4, 6]);
      const larger = renderLoadBalancer(aService({ ports: [1, 2, 3, 4, 5, 6], annotations: { type: "lb21" } }), around);
      expect(larger.ok).toBe(true);
    });

    it("keeps its load balancer when the id names another one, and reports it", () => {
      const rendered = renderLoadBalancer(aService({ annotations: { id: "7" } }), {
        ...around,
        existing: aBalancerState(),
      });
      expect(rendered).toMatchObject({ ok: true, mistakes: [expect.stringContaining("already has load balancer 42")] });
    });

    it("sets delete protection on request, and lifts only what it set", () => {
      const existing = aBalancerState({ deleteProtection: true });
      const ours = { ...existing, labels: { ...existing.labels, "lotse/protected": "true" } };
      expect(specOf({ "delete-protection": "true" }).deleteProtection).toBe(true);
      expect(specOf({ "delete-protection": "false" }, { ...CONTEXT, existing }).deleteProtection).toBe(false);
      expect(specOf({}, { ...CONTEXT, existing }).deleteProtection).toBe(true);
      expect(specOf({}, { ...CONTEXT, existing: ours }).deleteProtection).toBe(false);
    });

    it("ends in two runs, of which each can be killed half-way, and then nothing is left to do", () => {
      const marked = { ...aBalancerState().labels, "lotse/protected": "true" };
      const fieldsAt = (given: Partial<LoadBalancerState>) => {
        const existing = aBalancerState({ name: DEFAULT_NAME, labels: marked, ...given });
        const { spec, existing: listed } = rendered({}, { ...CONTEXT, existing });
        const own = differences(spec, listed).filter(({ part }) => part === "balancer");
        return own.map(({ field, want }) => [field, want]);
      };
      expect(fieldsAt({ deleteProtection: true })).toEqual([["delete protection", "false"]]);
      expect(fieldsAt({ deleteProtection: false })).toEqual([["label lotse/protected", undefined]]);
      expect(fieldsAt({ deleteProtection: false, labels: aBalancerState().labels })).toEqual([]);
      expect(fieldsAt({ deleteProtection: true, labels: aBalancerState().labels })).toEqual([]);
    });
  });

  it("refuses a port without a node port before the API does", () => {
    const rendered = renderLoadBalancer(aService({ ports: [{ port: 80, protocol: "TCP" }] }), CONTEXT);
    expect(rendered).toEqual({
      ok: false,
      mistakes: ["port 80 has no node port: set allocateLoadBalancerNodePorts to true, or specify a nodePort"],
      notes: [],
    });
  });

  it("reports all mistakes at once", () => {
    expect(mistakesOf({ protocol: "x", "node-selector": "(", "private-ipv4": "x" })).toHaveLength(3);
  });

  it("HCCM V1: serves the other ports of a Service with UDP ports, and reports it", () => {
    const udp = { port: 53, nodePort: 30_053, protocol: "UDP" };
    const rendered = renderLoadBalancer(aService({ ports: [80, udp] }), CONTEXT);
    expect(rendered).toMatchObject({ ok: true, spec: { listeners: [{ listenPort: 80 }] } });
    expect(rendered.notes).toEqual([
      {
        reason: "UnsupportedProtocolConfigured",
        message: "port 53/UDP is not served: Hetzner load balancers only forward TCP",
      },
    ]);
  });

  it("renders what the API accepts, or a mistake that names its annotation, from arbitrary values", () => {
    const value = fc.oneof(
      hostileText,
      fc.constantFrom("true", "http", "10.0.0.1", "30s", "2??,"),
      fc.nat(100_000).map(String),
    );
    const names = Object.values(OPTIONS).map(({ annotation }) => annotation);
    fc.assert(
      fc.property(fc.dictionary(fc.constantFrom(...names), value, { maxKeys: 4 }), (annotations) => {
        const rendered = renderLoadBalancer(aService({ annotations }), IN_NETWORK);
        if (rendered.ok) expectAcceptable(rendered.spec);
        else
          for (const mistake of rendered.mistakes) expect(mistake).toContain("annotation load-balancer.hetzner.cloud/");
      }),
      { numRuns: 300 },
    );
  });
});

/** The bounds of the API's own description. */
function expectAcceptable({ name, type, place, listeners }: LoadBalancerSpec): void {
  expect(name).toMatch(/^\S(.*\S)?$/);
  expect(name.length).toBeLessThanOrEqual(128);
  expect(type).toMatch(/^\S+$/);
  expect(Object.values(place).join()).toMatch(/^\S+$/);
  for (const { http, healthCheck } of listeners) {
    expect(http?.cookieName ?? "x").toMatch(/^\S{1,100}$/);
    expect(healthCheck.http?.path ?? "/").toMatch(/^\S{1,256}$/);
    expect(healthCheck.http?.domain ?? "").toMatch(/^[^\s%\\]{0,128}$/);
    expect(healthCheck.http?.statusCodes ?? ["2??"]).not.toContain("");
  }
}
