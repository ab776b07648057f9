import { describe, expect, it } from "vitest";
import { type Checkpoint, recordsFor, renderCheckpoint } from "../../../../stacks/state/checkpoint.ts";
import { componentUrn, routeUnit, unitOf } from "../../../../stacks/units/names.ts";
import { aBalancerSpec, aBalancerState, aListener, aRoute, NETWORK_ID } from "../../../support/builders.ts";
import { aCertificateSpec, aCertificateState, uploaded } from "../../../support/certificates.ts";

const CONTEXT = { stack: "prod", provider: { version: "1.41.0", config: { pollInterval: "50ms" } } };
const SPEC = aBalancerSpec();
const UNIT = unitOf(SPEC);
const ROUTE = aRoute("10.244.0.0/24", "10.0.0.1");
const ROUTE_UNIT = routeUnit(ROUTE);
const STACK = "urn:pulumi:prod::lotse::pulumi:pulumi:Stack::lotse-prod";
const PROVIDER = "urn:pulumi:prod::lotse::pulumi:providers:hcloud::default_1_41_0";
const urns = (state: Checkpoint) => state.map(({ urn }) => urn);
const partUrn = (type: string, part: string) =>
  `urn:pulumi:prod::lotse::lotse:index:LoadBalancer$hcloud:index/${type}::${UNIT}#${part}`;
const BALANCER = partUrn("loadBalancer:LoadBalancer", "balancer");

it("writes the name of the stack that the engine expects", () => {
  expect(JSON.parse(renderCheckpoint([], "prod"))).toMatchObject({
    version: 3,
    checkpoint: { stack: "organization/lotse/prod", latest: { resources: [] } },
  });
});

describe("recordsFor", () => {
  it("creates a state with the stack and its provider", () => {
    const state = recordsFor({}, [SPEC], CONTEXT);
    expect(state).toMatchObject([
      { urn: STACK, type: "pulumi:pulumi:Stack", custom: false },
      {
        urn: PROVIDER,
        type: "pulumi:providers:hcloud",
        custom: true,
        inputs: { version: "1.41.0", pollInterval: "50ms" },
      },
    ]);
  });

  it("unlike HCCM S13f: omits a network that the spec does not mention, so that it is not detached", () => {
    const existing = aBalancerState({ network: { networkId: NETWORK_ID, ip: "10.0.0.5" } });
    const state = recordsFor({ [UNIT]: existing }, [SPEC], CONTEXT);
    expect(state.filter(({ type }) => type.includes("Network"))).toEqual([]);
  });

  it("writes a load balancer as the provider would", () => {
    const existing = aBalancerState({
      publicInterface: false,
      network: { networkId: NETWORK_ID, ip: "10.0.0.5" },
      listeners: [aListener(80)],
      targets: [
        { kind: "server", serverId: 1, usePrivateIp: true },
        { kind: "ip", ip: "203.0.113.7" },
      ],
    });
    const spec = { ...SPEC, network: { networkId: NETWORK_ID, publicInterface: false } };
    const state = recordsFor({ [UNIT]: existing }, [spec], CONTEXT);
    const [component, ...parts] = state.slice(2);
    expect(component).toEqual({
      urn: componentUrn("prod", UNIT),
      type: "lotse:index:LoadBalancer",
      custom: false,
      parent: STACK,
    });
    expect(parts.map(({ urn, id }) => [urn, id])).toEqual([
      [BALANCER, "42"],
      [partUrn("loadBalancerNetwork:LoadBalancerNetwork", "network"), "42-7"],
      [partUrn("loadBalancerService:LoadBalancerService", "listener-80"), "42__80"],
      [partUrn("loadBalancerTarget:LoadBalancerTarget", "server-1"), "lb-srv-tgt-1-42"],
      [
        partUrn("loadBalancerTarget:LoadBalancerTarget", "ip-203.0.113.7"),
        // The digest of the address, as `sha256sum` prints it.
        "lb-ip-tgt-fec52565aa0cf18f57d7cf5b3ac728503b8992d2d6f7d46da1d1201090902b02-42",
      ],
    ]);
    const [balancer, network, listener, target, other] = parts;
    expect(balancer).toMatchObject({
      provider: `${PROVIDER}::6c6f7473-6500-4000-8000-000000000001`,
      inputs: { name: "balancer", loadBalancerType: "lb11", location: "fsn1" },
      outputs: { id: "42", ipv4: "198.51.100.1", ipv6: "2001:db8:ffff::1", networkZone: "eu-central" },
    });
    expect(network).toMatchObject({ inputs: { enablePublicInterface: false }, outputs: { ip: "10.0.0.5" } });
    expect(network?.inputs).not.toHaveProperty("ip");
    expect(listener?.inputs).toMatchObject({ loadBalancerId: "42", listenPort: 80 });
    expect(target?.inputs).toEqual({ loadBalancerId: 42, type: "server", serverId: 1, usePrivateIp: true });
    for (const part of parts.slice(1)) {
      // A private target is lost and recreated with the attachment; others are only added after it.
      const stands = part === target ? [network?.urn] : part === other ? [network?.urn, BALANCER] : [BALANCER];
      expect(part).toMatchObject({
        parent: component?.urn,
        deletedWith: BALANCER,
        dependencies: stands,
        propertyDependencies: { loadBalancerId: [stands.at(-1)] },
      });
    }
  });

  describe("omits what the spec leaves open", () => {
    const written = (spec: Partial<typeof SPEC>) => {
      const existing = aBalancerState({
        network: { networkId: NETWORK_ID, ip: "10.0.1.5", subnet: "10.0.1.0/24" },
        rdns: { ipv4: "a.example.com", ipv6: "b.example.com" },
      });
      const units = [{ ...SPEC, ...spec }];
      return recordsFor({ [UNIT]: existing }, units, CONTEXT);
    };
    const network = { networkId: NETWORK_ID, publicInterface: true };

    it("reverse DNS that is not requested", () => {
      const names = (state: Checkpoint) => state.filter(({ type }) => type.endsWith("Rdns"));
      expect(names(written({}))).toEqual([]);
      expect(names(written({ rdns: { ipv4: null, ipv6: "x" } }))).toMatchObject([
        { id: "l-42-198.51.100.1", inputs: { loadBalancerId: 42, ipAddress: "198.51.100.1", dnsPtr: "a.example.com" } },
        { id: "l-42-2001:db8:ffff::1", inputs: { dnsPtr: "b.example.com" } },
      ]);
    });

    it("a subnet, unless one is requested", () => {
      const inputs = (state: Checkpoint) => state.find(({ type }) => type.endsWith("LoadBalancerNetwork"))?.inputs;
      expect(inputs(written({ network }))).toMatchObject({ networkId: NETWORK_ID });
      expect(inputs(written({ network: { ...network, subnet: "10.0.2.0/24" } }))).toMatchObject({
        subnetId: "7-10.0.1.0/24",
      });
    });
  });

  it("writes a route as the provider would", () => {
    const state = recordsFor({ [ROUTE_UNIT]: ROUTE }, [ROUTE], CONTEXT);
    expect(state.slice(2)).toMatchObject([
      { urn: componentUrn("prod", ROUTE_UNIT), type: "lotse:index:Route" },
      {
        urn: `urn:pulumi:prod::lotse::lotse:index:Route$hcloud:index/networkRoute:NetworkRoute::${ROUTE_UNIT}#route`,
        id: "7-10.244.0.0/24",
        inputs: { networkId: 7, destination: "10.244.0.0/24", gateway: "10.0.0.1" },
      },
    ]);
  });

  it.each([
    ["managed", undefined, "managedCertificate:ManagedCertificate", { domainNames: ["example.com"] }],
    [
      "uploaded",
      uploaded("AB:CD:EF:01:23:45", "PEM"),
      "uploadedCertificate:UploadedCertificate",
      { certificate: "PEM", privateKey: "held by the controller" },
    ],
  ] as const)("writes a certificate as the provider would have: %s", (_, content, type, inputs) => {
    const spec = aCertificateSpec(content && { content });
    const existing = { [unitOf(spec)]: aCertificateState(content && { content }) };
    const [component, certificate, ...more] = recordsFor(existing, [spec], CONTEXT).slice(2);
    expect(component).toMatchObject({ urn: componentUrn("prod", unitOf(spec)), type: "lotse:index:Certificate" });
    expect(certificate).toMatchObject({
      urn: `urn:pulumi:prod::lotse::lotse:index:Certificate$hcloud:index/${type}::${unitOf(spec)}#certificate`,
      id: "77",
      parent: component?.urn,
      inputs: { name: spec.name, labels: spec.labels, ...inputs },
    });
    expect(more).toEqual([]);
  });

  it("writes units to be removed as they exist", () => {
    expect(recordsFor({ [UNIT]: aBalancerState({ id: 99 }) }, [], CONTEXT)).toContainEqual(
      expect.objectContaining({ urn: BALANCER, id: "99" }),
    );
  });

  it("lists each resource once, after its dependencies", () => {
    const existing = { [UNIT]: aBalancerState({ listeners: [aListener(80)] }), [ROUTE_UNIT]: ROUTE };
    const state = recordsFor(existing, [SPEC, ROUTE], CONTEXT);
    expect(new Set(urns(state)).size).toBe(state.length);
    const position = new Map(urns(state).map((urn, index) => [urn, index]));
    for (const { urn, parent, dependencies = [] } of state) {
      for (const before of [...(parent ? [parent] : []), ...dependencies]) {
        expect(position.get(before)).toBeLessThan(position.get(urn) ?? -1);
      }
    }
  });
});
