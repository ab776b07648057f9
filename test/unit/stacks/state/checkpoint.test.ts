import { describe, expect, it } from "vitest";
import type { RunRequest } from "../../../../stacks/engine/run.ts";
import { type Checkpoint, parseCheckpoint, reconcile, renderCheckpoint } from "../../../../stacks/state/checkpoint.ts";
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
const REQUEST: RunRequest = {
  mode: "apply",
  units: [],
  removals: [],
  existing: {},
  nodes: {},
  access: { endpoint: "", token: "" },
};
const urns = (state: Checkpoint) => state.map(({ urn }) => urn);
const partUrn = (type: string, part: string) =>
  `urn:pulumi:prod::lotse::lotse:index:LoadBalancer$hcloud:index/${type}::${UNIT}#${part}`;
const BALANCER = partUrn("loadBalancer:LoadBalancer", "balancer");

describe("parseCheckpoint", () => {
  it.each([
    ["no file", undefined],
    ["an empty file", ""],
    ["a file that a crash cut off", renderCheckpoint([{ urn: "u", type: "t", custom: true }], "prod").slice(0, -9)],
    ["a file of zeros", "\u0000\u0000"],
    ["no object", "null"],
    ["another thing", '"text"'],
    ["no deployment", '{"version":3,"checkpoint":{}}'],
    ["an empty deployment", '{"version":3,"checkpoint":{"latest":null}}'],
  ])("treats %s as an empty state", (_, text) => {
    expect(parseCheckpoint(text)).toEqual([]);
  });

  it("rejects a newer format, and says what to do", () => {
    expect(() => parseCheckpoint('{"version":4}')).toThrow(/format 4.*delete the state/);
  });

  it("reads what it writes", () => {
    const state = reconcile([], { ...REQUEST, units: [SPEC], existing: { [UNIT]: aBalancerState() } }, CONTEXT);
    expect(parseCheckpoint(renderCheckpoint(state, "prod"))).toEqual(state);
  });

  it("drops the engine's internal fields", () => {
    const record = {
      urn: "u",
      type: "t",
      custom: true,
      sourcePosition: "project:///x",
      stackTrace: [],
      outputs: { id: "1", __pulumi_raw_state_delta: { secret: "x" } },
    };
    const text = JSON.stringify({ version: 3, checkpoint: { latest: { resources: [record] } } });
    expect(parseCheckpoint(text)).toEqual([{ urn: "u", type: "t", custom: true, outputs: { id: "1" } }]);
  });

  it("drops encrypted values, whose key does not outlive the run", () => {
    const secret = { "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", ciphertext: "v1:x" };
    const record = {
      urn: "u",
      type: "t",
      custom: true,
      inputs: { a: 1, key: secret },
      outputs: { key: secret, b: null },
    };
    const text = JSON.stringify({ version: 3, checkpoint: { latest: { resources: [record] } } });
    expect(parseCheckpoint(text)).toEqual([
      { urn: "u", type: "t", custom: true, inputs: { a: 1 }, outputs: { b: null } },
    ]);
  });
});

it("restores the placeholder of an encrypted private key", () => {
  const secret = { "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270", ciphertext: "v1:abc" };
  const record = { urn: "u", type: "t", custom: true, inputs: { privateKey: secret }, outputs: { privateKey: secret } };
  const text = JSON.stringify({ version: 3, checkpoint: { latest: { resources: [record] } } });
  const held = { privateKey: "held by the controller" };
  expect(parseCheckpoint(text)).toEqual([{ urn: "u", type: "t", custom: true, inputs: held, outputs: held }]);
});

it("writes the name of the stack that the engine expects", () => {
  expect(JSON.parse(renderCheckpoint([], "prod"))).toMatchObject({
    version: 3,
    checkpoint: { stack: "organization/lotse/prod", latest: { resources: [] } },
  });
});

describe("reconcile", () => {
  it("creates a state with the stack and its provider", () => {
    const state = reconcile([], { ...REQUEST, units: [SPEC] }, CONTEXT);
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
    const state = reconcile([], { ...REQUEST, units: [SPEC], existing: { [UNIT]: existing } }, CONTEXT);
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
    const state = reconcile([], { ...REQUEST, units: [spec], existing: { [UNIT]: existing } }, CONTEXT);
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
    const [balancer, network, listener, target] = parts;
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
      const stands = part === target ? [BALANCER, network?.urn] : [BALANCER];
      expect(part).toMatchObject({
        parent: component?.urn,
        deletedWith: BALANCER,
        dependencies: stands,
        // A private target is lost and recreated with the attachment.
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
      return reconcile([], { ...REQUEST, units, existing: { [UNIT]: existing } }, CONTEXT);
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
    const state = reconcile([], { ...REQUEST, units: [ROUTE], existing: { [ROUTE_UNIT]: ROUTE } }, CONTEXT);
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
    const [component, certificate, ...more] = reconcile([], { ...REQUEST, units: [spec], existing }, CONTEXT).slice(2);
    expect(component).toMatchObject({ urn: componentUrn("prod", unitOf(spec)), type: "lotse:index:Certificate" });
    expect(certificate).toMatchObject({
      urn: `urn:pulumi:prod::lotse::lotse:index:Certificate$hcloud:index/${type}::${unitOf(spec)}#certificate`,
      id: "77",
      parent: component?.urn,
      inputs: { name: spec.name, labels: spec.labels, ...inputs },
    });
    expect(more).toEqual([]);
  });

  describe("over an older state", () => {
    const both: RunRequest = {
      ...REQUEST,
      units: [SPEC, ROUTE],
      existing: { [UNIT]: aBalancerState({ listeners: [aListener(80)] }), [ROUTE_UNIT]: ROUTE },
    };
    const older = reconcile([], both, CONTEXT);
    const ofRoute = urns(older).filter((urn) => urn.includes("route/"));

    it("keeps other units unchanged", () => {
      const state = reconcile(older, { ...REQUEST, units: [SPEC], existing: {} }, CONTEXT);
      expect(urns(state)).toEqual([STACK, PROVIDER, ...ofRoute]);
      expect(state.filter(({ urn }) => urn.includes("route/"))).toEqual(
        older.filter(({ urn }) => urn.includes("route/")),
      );
    });

    it("drops units that no longer exist, and parts that were removed manually", () => {
      expect(urns(reconcile(older, { ...REQUEST, removals: [UNIT, ROUTE_UNIT] }, CONTEXT))).toEqual([STACK, PROVIDER]);
      const state = reconcile(older, { ...REQUEST, units: [SPEC], existing: { [UNIT]: aBalancerState() } }, CONTEXT);
      expect(urns(state).filter((urn) => urn.includes("listener"))).toEqual([]);
    });

    it("writes units to be removed as they exist", () => {
      const request = { ...REQUEST, removals: [UNIT], existing: { [UNIT]: aBalancerState({ id: 99 }) } };
      expect(reconcile(older, request, CONTEXT)).toContainEqual(expect.objectContaining({ urn: BALANCER, id: "99" }));
    });

    it("keeps the records of stack and provider, and puts them first", () => {
      const marked = older.map((record) =>
        record.urn === PROVIDER ? { ...record, id: "made by the engine" } : record,
      );
      const state = reconcile(marked.toReversed(), both, CONTEXT);
      expect(urns(state).slice(0, 2)).toEqual([STACK, PROVIDER]);
      expect(state[1]?.id).toBe("made by the engine");
      expect(state.find(({ urn }) => urn === BALANCER)?.provider).toBe(`${PROVIDER}::made by the engine`);
    });

    it("lists each resource once, after its dependencies", () => {
      const state = reconcile(older, both, CONTEXT);
      expect(new Set(urns(state)).size).toBe(state.length);
      const position = new Map(urns(state).map((urn, index) => [urn, index]));
      for (const { urn, parent, dependencies = [] } of state) {
        for (const before of [...(parent ? [parent] : []), ...dependencies]) {
          expect(position.get(before)).toBeLessThan(position.get(urn) ?? -1);
        }
      }
    });

    it("is idempotent", () => {
      expect(reconcile(older, both, CONTEXT)).toEqual(older);
    });
  });
});
