import { describe, expect, it } from "vitest";
import { countForeign, findForeign, withoutForeign } from "../../../../../controller/render/service/ours.ts";
import { aBalancerState, aListener, aNode, aServer, aService } from "../../../../support/builders.ts";

const nodes = [aNode({ id: 1 }), aNode({ name: "metal", addresses: [{ type: "ExternalIP", address: "203.0.113.9" }] })];
const servers = [aServer({ id: 1 }), aServer({ id: 2, name: "database" })];
const claimant = { service: aService({ ports: [80] }), nodes, servers, selectors: 0 };
const listeners = [aListener(80), aListener(8443)];
const targets = [
  { kind: "server", serverId: 1, usePrivateIp: false },
  { kind: "server", serverId: 2, usePrivateIp: false },
  { kind: "ip", ip: "203.0.113.9" },
  { kind: "ip", ip: "203.0.113.77" },
] as const;
const FOREIGN = ["listener-8443", "server-2", "ip-203.0.113.77"];
const MARKS = Object.fromEntries(FOREIGN.map((part) => [`lotse/foreign-${part}`, "true"]));

describe("findForeign", () => {
  const everything = ["listener-80", "listener-8443", "server-1", "server-2", "ip-203.0.113.9", "ip-203.0.113.77"];

  it.each([
    ["found: everything", "found", everything],
    ["returned: what is neither a port of the Service nor a node of the cluster", "returned", FOREIGN],
    ["handed over: nothing that is not marked", "handed over", []],
  ] as const)("at adoption of a load balancer that was %s", (_, takeover, parts) => {
    expect([...findForeign(aBalancerState({ listeners, targets }), { ...claimant, takeover })]).toEqual(parts);
  });

  it("at adoption and later: label selectors, which are not evaluated", () => {
    const found = findForeign(aBalancerState(), { ...claimant, takeover: "found", selectors: 2 });
    expect([...found]).toEqual(["selectors"]);
    const labels = { "lotse/foreign-selectors": "true" };
    expect([...findForeign(aBalancerState({ labels }), { ...claimant, selectors: 1 })]).toEqual(["selectors"]);
    expect([...findForeign(aBalancerState({ labels }), claimant)]).toEqual([]);
    expect([...findForeign(aBalancerState(), { ...claimant, selectors: 1 })]).toEqual([]);
    expect(countForeign(new Set(["selectors", "listener-8443", "server-1", "ip-1.2.3.4"]))).toEqual({
      listeners: 1,
      targets: 2,
    });
  });

  it("later: what was marked then", () => {
    const state = aBalancerState({ listeners, targets, labels: MARKS });
    expect([...findForeign(state, claimant)]).toEqual(FOREIGN);
  });

  it("HCCM V3, T2: nothing on a load balancer that was always the Service's, so that surplus parts are removed", () => {
    expect([...findForeign(aBalancerState({ listeners, targets }), claimant)]).toEqual([]);
  });

  it("even a port that the Service claims later, and a server that has become a node", () => {
    const state = aBalancerState({ listeners, targets, labels: MARKS });
    const joined = [...nodes, aNode({ id: 2, name: "database" })];
    const later = { ...claimant, service: aService({ ports: [80, 8443] }), nodes: joined };
    expect([...findForeign(state, later)]).toEqual(FOREIGN);
  });

  it("not what has been removed since", () => {
    expect([...findForeign(aBalancerState({ labels: MARKS }), claimant)]).toEqual([]);
  });
});

it("withoutForeign: hides what must not be touched", () => {
  const state = withoutForeign(aBalancerState({ listeners, targets }), new Set(FOREIGN));
  expect(state.listeners).toEqual([aListener(80)]);
  expect(state.targets).toEqual([targets[0], targets[2]]);
});
