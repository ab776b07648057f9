import * as pulumi from "@pulumi/pulumi";
import { afterEach, describe, expect, it } from "vitest";
import {
  Certificate,
  type CertificateArgs,
  Firewall,
  LoadBalancer,
  Network,
  Route,
  ServerPool,
} from "../../../../stacks/components/index.ts";
import { declared, resolved } from "../../../support/declared.ts";

afterEach(() => pulumi.runtime.disconnectSync());

const later = <T>(value: T) => pulumi.output(Promise.resolve(value));
const urn = (component: string, type: string, name: string) =>
  `urn:pulumi:test::lotse::lotse:index:${component}$hcloud:index/${type}::${name}`;

describe("a route", () => {
  it("takes outputs of other resources", async () => {
    const { names, part } = await declared(
      () => new Route("pods", { networkId: later(7), destination: later("10.1.0.0/24"), gateway: later("10.0.0.2") }),
    );
    expect(names).toEqual(["pods", "pods#route"]);
    expect(part("pods#route")?.inputs).toEqual({ networkId: 7, destination: "10.1.0.0/24", gateway: "10.0.0.2" });
  });
});

describe("a load balancer", () => {
  it("needs a name and a type only, and leaves every default to the provider", async () => {
    const { names, part } = await declared(() => new LoadBalancer("web", { name: "web", type: "lb11" }));
    expect(names).toEqual(["web", "web#balancer"]);
    expect(part("web#balancer")?.inputs).toEqual({ name: "web", loadBalancerType: "lb11" });
  });

  it("takes outputs of other resources, and returns id and addresses", async () => {
    const computed = () => ({ ipv4: "192.0.2.1", ipv6: "2001:db8::1" });
    const { outputs, part } = await declared(
      () =>
        new LoadBalancer("web", {
          name: later("web"),
          type: later("lb11"),
          labels: later({ team: later("a") }),
          network: { subnetId: later("7-10.0.0.0/24"), ip: "10.0.0.9" },
          reverseDns: { ipv4: later("www.example.com") },
          listeners: [
            {
              listenPort: 443,
              destinationPort: later(8080),
              protocol: "https",
              http: { certificateIds: [later(5)], timeoutIdleSeconds: 30 },
            },
          ],
          targets: { first: { serverId: later(3), usePrivateIp: true }, robot: { ip: later("192.0.2.9") } },
        }),
      computed,
    );
    expect(part("web#balancer")?.inputs).toEqual({ name: "web", loadBalancerType: "lb11", labels: { team: "a" } });
    const inputs = (name: string) => part(`web#${name}`)?.inputs;
    expect(inputs("network")).toEqual({ loadBalancerId: 42, subnetId: "7-10.0.0.0/24", ip: "10.0.0.9" });
    expect(inputs("rdns-ipv4")).toMatchObject({ ipAddress: "192.0.2.1", dnsPtr: "www.example.com" });
    expect(inputs("listener-443")).toEqual({
      loadBalancerId: "42",
      listenPort: 443,
      destinationPort: 8080,
      protocol: "https",
      http: { certificates: [5], timeoutIdle: 30 },
    });
    expect(inputs("first")).toEqual({ loadBalancerId: 42, type: "server", serverId: 3, usePrivateIp: true });
    expect(inputs("robot")).toEqual({ loadBalancerId: 42, type: "ip", ip: "192.0.2.9" });
    expect(await resolved(outputs.loadBalancerId)).toBe(42);
    expect(await resolved(outputs.ipv4)).toBe("192.0.2.1");
    expect(await resolved(outputs.privateIp)).toBe("10.0.0.9");
  });
});

describe("a certificate", () => {
  it.each<[string, Omit<CertificateArgs, "name">]>([
    ["nothing", {}],
    ["a certificate without its key", { certificate: "PEM" }],
    ["a key without its certificate", { privateKey: "PEM" }],
  ])("is refused with %s", async (_, args) => {
    await expect(declared(() => new Certificate("www", { name: "www", ...args }))).rejects.toThrow(
      "certificate www#certificate: needs domains, or both certificate and privateKey",
    );
  });

  it("returns the id that listeners need", async () => {
    const { outputs } = await declared(() => new Certificate("www", { name: "www", domains: [later("example.com")] }));
    expect(await resolved(outputs.certificateId)).toBe(42);
  });
});

describe("a network", () => {
  it("declares its subnets by their names, deleted with it, and returns their ids", async () => {
    const subnets = {
      machines: { ipRange: "10.0.0.0/24", networkZone: "eu-central" },
      office: { ipRange: "10.0.1.0/24", networkZone: "eu-central", type: "vswitch", vswitchId: 3 },
    };
    const { outputs, names, part } = await declared(
      () => new Network("net", { name: "net", ipRange: "10.0.0.0/8", subnets }),
    );
    expect(names).toEqual(["net", "net#network", "net#subnet-machines", "net#subnet-office"]);
    expect(part("net#network")?.inputs).toEqual({ name: "net", ipRange: "10.0.0.0/8" });
    expect(part("net#subnet-machines")).toMatchObject({
      inputs: { networkId: 42, type: "cloud", ipRange: "10.0.0.0/24", networkZone: "eu-central" },
      deletedWith: urn("Network", "network:Network", "net#network"),
    });
    expect(part("net#subnet-office")?.inputs).toMatchObject({ type: "vswitch", vswitchId: 3 });
    expect(await resolved(outputs.networkId)).toBe(42);
    expect(Object.keys(outputs.subnetIds)).toEqual(["machines", "office"]);
  });
});

describe("a firewall", () => {
  it("lets in by default, and out on request", async () => {
    const rules = [
      { protocol: "tcp", port: "22", sourceIps: [later("192.0.2.0/24")] },
      { direction: "out", protocol: "icmp", destinationIps: ["0.0.0.0/0"] },
    ];
    const { outputs, part } = await declared(() => new Firewall("wall", { name: "wall", rules }));
    expect(part("wall#firewall")?.inputs).toEqual({
      name: "wall",
      rules: [
        { direction: "in", protocol: "tcp", port: "22", sourceIps: ["192.0.2.0/24"] },
        { direction: "out", protocol: "icmp", destinationIps: ["0.0.0.0/0"] },
      ],
    });
    expect(await resolved(outputs.firewallId)).toBe(42);
  });
});

describe("a server pool", () => {
  const common = { serverType: "cx23", image: "ubuntu-24.04", location: "fsn1" };

  it("is bare without subnet, keys, firewall and placement group", async () => {
    const { names, part } = await declared(() => new ServerPool("p", { ...common, servers: { a: { name: "a" } } }));
    expect(names).toEqual(["p", "p#server-a"]);
    expect(part("p#server-a")).toMatchObject({
      inputs: { ...common, name: "a", labels: {}, sshKeys: [], firewallIds: [] },
      deleteBeforeReplace: true,
    });
    expect(part("p#server-a")?.inputs).not.toHaveProperty("networks");
  });

  it("shares a placement group, and keeps user data secret", async () => {
    const { outputs, part } = await declared(
      () =>
        new ServerPool("p", {
          ...common,
          placementGroup: "p",
          subnetId: later("7-10.0.0.0/24"),
          servers: { a: { name: "a", ip: "10.0.0.5", userData: later("#cloud-config") }, b: { name: "b" } },
        }),
      () => ({ ipv4Address: "192.0.2.1" }),
    );
    expect(part("p#placement-group")?.inputs).toEqual({ name: "p", type: "spread", labels: {} });
    const { networks, placementGroupId, userData } = part("p#server-a")?.inputs ?? {};
    expect(networks).toEqual([{ subnetId: "7-10.0.0.0/24", ip: "10.0.0.5", aliasIps: [] }]);
    expect(placementGroupId).toBe(42);
    expect(userData).toMatchObject({ value: "#cloud-config" });
    expect(part("p#server-b")?.inputs.networks).toEqual([{ subnetId: "7-10.0.0.0/24", aliasIps: [] }]);
    const { a } = outputs.servers;
    expect(a && (await resolved(a.ipv4))).toBe("192.0.2.1");
  });
});

describe("every component", () => {
  const server = { serverType: "cx23", image: "i", location: "fsn1", servers: { a: { name: "a" } } };
  const COMPONENTS: Readonly<Record<string, (opts: pulumi.ComponentResourceOptions) => pulumi.ComponentResource>> = {
    LoadBalancer: (opts) => new LoadBalancer("x", { name: "x", type: "lb11", network: { networkId: 1 } }, opts),
    Route: (opts) => new Route("x", { networkId: 1, destination: "10.1.0.0/24", gateway: "10.0.0.2" }, opts),
    Certificate: (opts) => new Certificate("x", { name: "x", domains: ["example.com"] }, opts),
    Network: (opts) => new Network("x", { name: "x", ipRange: "10.0.0.0/8", subnets: {} }, opts),
    Firewall: (opts) => new Firewall("x", { name: "x", rules: [] }, opts),
    ServerPool: (opts) => new ServerPool("x", server, opts),
  };

  it.each(Object.keys(COMPONENTS))("%s passes its options on to its children", async (kind) => {
    class Outer extends pulumi.ComponentResource {
      constructor() {
        super("test:index:Outer", "outer");
      }
    }
    const { found, part } = await declared(() => COMPONENTS[kind]?.({ parent: new Outer(), protect: true }));
    const component = `urn:pulumi:test::lotse::test:index:Outer$lotse:index:${kind}::x`;
    expect(part("x")?.parent).toContain("test:index:Outer::outer");
    const children = [...found.values()].filter(({ name }) => name.startsWith("x#"));
    expect(children.length).toBeGreaterThan(0);
    for (const child of children) expect(child).toMatchObject({ parent: component, protect: true });
  });
});
