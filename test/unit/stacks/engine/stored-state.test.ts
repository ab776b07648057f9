import { describe, expect, it } from "vitest";
import { type Deployment, settlePending, unknownTo, withFound } from "../../../../stacks/engine/stored-state.ts";

type Stored = NonNullable<Deployment["resources"]>[number];

const PREFIX = "urn:pulumi:dev::env";
const SERVER = "hcloud:index/server:Server";
const NETWORK = "hcloud:index/network:Network";

const record = (type: string, name: string, given: Partial<Stored> = {}): Stored => ({
  urn: `${PREFIX}::${type}::${name}`,
  type,
  custom: true,
  ...given,
});
const creating = (type: string, inputs: object) => ({ type: "creating", resource: record(type, "x", { inputs }) });
const settled = (deployment: Deployment, ids: Readonly<Record<string, string>> = {}) =>
  settlePending(deployment, async (type, name) => ids[`${type} ${name}`]);

describe("interrupted creations", () => {
  it("need no attention if there are none", async () => {
    expect(await settled({ resources: [record(NETWORK, "a")] })).toBeUndefined();
  });

  it.each<[string, object, string]>([
    ["networkSubnet:NetworkSubnet", { networkId: 7, ipRange: "10.0.0.0/24" }, "7-10.0.0.0/24"],
    ["networkRoute:NetworkRoute", { networkId: 7, destination: "10.1.0.0/24" }, "7-10.1.0.0/24"],
    ["loadBalancerNetwork:LoadBalancerNetwork", { loadBalancerId: 3, networkId: 7 }, "3-7"],
    ["loadBalancerNetwork:LoadBalancerNetwork", { loadBalancerId: 3, subnetId: "7-10.0.0.0/24" }, "3-7"],
    ["loadBalancerService:LoadBalancerService", { loadBalancerId: "3", listenPort: 80 }, "3__80"],
    ["loadBalancerTarget:LoadBalancerTarget", { loadBalancerId: 3, serverId: 9 }, "lb-srv-tgt-9-3"],
  ])("of a %s get the id that the provider derives from %j", async (token, inputs, id) => {
    const type = `hcloud:index/${token}`;
    const { resources, pending_operations } = (await settled({ pending_operations: [creating(type, inputs)] })) ?? {};
    expect(resources).toMatchObject([{ type, id, inputs, outputs: { ...inputs, id } }]);
    expect(pending_operations).toBeUndefined();
  });

  it("of named resources are found by name, or forgotten", async () => {
    const notes = [creating(NETWORK, { name: "here" }), creating(NETWORK, { name: "gone" })];
    const deployment = await settled({ pending_operations: notes }, { [`${NETWORK} here`]: "7" });
    expect(deployment?.resources?.map(({ id }) => id)).toEqual(["7"]);
  });

  it("of servers are repeated: a server may have been created, but not attached or started", async () => {
    const deployment = await settled(
      { pending_operations: [creating(SERVER, { name: "a" })] },
      { [`${SERVER} a`]: "9" },
    );
    expect(deployment?.resources).toMatchObject([{ id: "9", taint: true }]);
  });

  it("of servers are also repeated if the API refused one of their steps", async () => {
    const resources = [record(SERVER, "a", { id: "8", initErrors: ["no"] }), record(SERVER, "b", { id: "9" })];
    const deployment = await settled({ resources });
    expect(deployment?.resources?.map(({ taint }) => taint)).toEqual([true, undefined]);
  });

  it("replace the record of the deleted predecessor, and nothing else", async () => {
    const before = [record(NETWORK, "n", { id: "1" }), record(SERVER, "x", { id: "8", pendingReplacement: true })];
    const notes = [creating(SERVER, { name: "a" }), { type: "deleting", resource: record(NETWORK, "n", { id: "1" }) }];
    const ids = { [`${SERVER} a`]: "9" };
    const deployment = await settled({ resources: before, pending_operations: notes }, ids);
    expect(deployment?.resources?.map(({ id }) => id)).toEqual(["1", "9"]);
    // Not found: the predecessor stays, so that the next run creates its successor.
    const kept = await settled({ resources: before, pending_operations: notes });
    expect(kept?.resources?.map(({ id }) => id)).toEqual(["1", "8"]);
  });
});

describe("a state that does not know what exists", () => {
  const network = { type: NETWORK, id: "7", name: "net" };
  const server = { type: SERVER, id: "9", name: "a" };

  it("names it, once each", () => {
    const resources = [record(NETWORK, "n", { id: "7" })];
    expect(unknownTo({ resources }, [network, server, server])).toEqual([server]);
  });

  it("gets records that can be deleted, later ones first, with a provider if it has none", () => {
    const { resources = [] } = withFound({}, [network, server], PREFIX);
    const [provider, first, second] = resources;
    expect(resources).toHaveLength(3);
    expect(provider).toMatchObject({ type: "pulumi:providers:hcloud" });
    expect(first).toMatchObject({ id: "7", dependencies: [], provider: `${provider?.urn}::${provider?.id}` });
    expect(second).toMatchObject({ id: "9", dependencies: [first?.urn] });
    expect(withFound({ resources }, [network, server], PREFIX)).toEqual({ resources });
  });
});
