import { describe, expect, it } from "vitest";
import { adviseOnAddress, explainMissing } from "../../../../../controller/render/node/hints.ts";
import { aNode, aServer, NETWORK_ID } from "../../../../support/builders.ts";

describe("a node without server", () => {
  it.each([
    ["in another case", "worker-1", aServer({ id: 5, name: "Worker-1" }), "upper and lower case"],
    ["with a domain", "worker-1", aServer({ id: 5, name: "worker-1.example.com" }), "similar name"],
    ["without its domain", "worker-1.example.com", aServer({ id: 5, name: "worker-1" }), "similar name"],
    [
      "with its private address",
      "worker-1",
      aServer({ id: 5, name: "x", privateIp: "10.0.0.9" }),
      "the Node's address",
    ],
    ["with its public address", "worker-1", aServer({ id: 5, name: "x", ipv4: "10.0.0.9" }), "the Node's address"],
  ])("is pointed to the server %s that was probably meant", (_, name, server, because) => {
    const node = aNode({ name, addresses: [{ type: "InternalIP", address: "10.0.0.9" }] });
    const text = explainMissing(node, [aServer({ id: 4, name: "else" }), server]);
    expect(text).toContain(`no server named "${name}" exists in this project, but server "${server.name}" `);
    expect(text).toContain(because);
    expect(text).toContain("--provider-id=hcloud://5");
  });

  it.each(["worker-10", "work", "wo"])("is not pointed to a server that only looks alike: %s", (name) => {
    expect(explainMissing(aNode({ name: "worker-1" }), [aServer({ name })])).toContain("name the Node like its server");
  });

  it("is pointed to the server that replaced its own, with the remedy", () => {
    const text = explainMissing(aNode({ name: "worker-1", id: 9 }), [aServer({ id: 12, name: "worker-1" })]);
    expect(text).toContain("hcloud://9");
    expect(text).toContain("server 12 has the same name: if the server was replaced, delete the Node");
  });

  it("is not pointed to another server when its providerID names one", () => {
    const text = explainMissing(aNode({ name: "worker-1", id: 9 }), [aServer({ name: "Worker-1" })]);
    expect(text).toContain("hcloud://9");
    expect(text).not.toContain("Worker-1");
  });
});

describe("an address that is not the server's", () => {
  it.each([
    [
      "no network is known, and it is in one",
      aServer({ privateIp: "10.0.0.1" }),
      undefined,
      "HCLOUD_NETWORK to the cluster's network (the server is attached to 7)",
    ],
    ["no network is known, and it is in none", aServer(), undefined, "set HCLOUD_NETWORK if"],
    [
      "it is not in the network",
      aServer({ name: "a" }),
      NETWORK_ID,
      "server a is not attached to network 7: attach it",
    ],
    [
      "it is in the network",
      aServer({ privateIp: "10.0.0.1" }),
      NETWORK_ID,
      "change --node-ip to one of these addresses",
    ],
  ])("comes with advice when %s", (_, server, networkId, expected) => {
    const options = { addressFamily: "dualstack" as const, ...(networkId !== undefined && { networkId }) };
    expect(adviseOnAddress(server, options, "10.9.9.9")).toContain(expected);
  });

  it.each([
    ["ipv4", "2001:db8:1::1", true],
    ["ipv6", "203.0.113.1", true],
    ["ipv4", "203.0.113.2", false],
  ] as const)(
    "comes with the setting that would include it, where nodes have %s only: %s",
    (addressFamily, missing, isNamed) => {
      const advice = adviseOnAddress(aServer({ id: 1 }), { addressFamily }, missing);
      expect(advice.includes("HCLOUD_INSTANCES_ADDRESS_FAMILY=dualstack")).toBe(isNamed);
    },
  );

  it.each([
    ["of its IPv6 network", "dualstack", "2001:db8:1::5", true],
    ["of its IPv6 network, which nodes do not carry", "ipv4", "2001:db8:1::5", false],
    ["of another network", "dualstack", "2001:db8:2::5", false],
  ] as const)("comes with the annotation that states it when it is %s", (_, addressFamily, missing, isNamed) => {
    const advice = adviseOnAddress(aServer({ id: 1 }), { addressFamily }, missing);
    expect(advice.includes("instance.hetzner.cloud/external-ipv6=2001:db8:1::5")).toBe(isNamed);
  });
});
