import { describe, expect, it } from "vitest";
import { assess, type Situation } from "../../../../controller/guard/plan.ts";
import { agesAfter, agesBefore, agesToConfirm } from "../../../../controller/observe/observe.ts";
import { unitOf } from "../../../../stacks/units/names.ts";
import {
  aBalancerSpec,
  aNetwork,
  aNode,
  aRenderOptions,
  aServer,
  aService,
  NETWORK_ID,
} from "../../../support/builders.ts";

const RESYNC_MS = 60_000;
const OPTIONS = aRenderOptions({ clusterCidrs: ["10.244.0.0/16"], networkId: NETWORK_ID });
const podCIDRs = ["10.244.1.0/24"];
const condition = (status: string, reason = "RouteCreated") => [{ type: "NetworkUnavailable", status, reason }];
const RELAXED = { servers: 45_000, loadBalancers: 1_000, certificates: 600_000, network: 30_000 };

describe("the first plan", () => {
  it.each([
    ["that has just joined", aNode({ podCIDRs }), 0],
    ["whose route could not be made", { ...aNode({ podCIDRs }), status: { conditions: condition("True") } }, 0],
    ["that has its route", { ...aNode({ podCIDRs }), status: { conditions: condition("False") } }, 30_000],
    ["that a CNI takes care of", { ...aNode({ podCIDRs }), status: { conditions: condition("False", "CNI") } }, 30_000],
    ["without a pod range", aNode(), 30_000],
  ])("with a Node %s accepts a network of this age", (_, node, network) => {
    expect(agesBefore([node], OPTIONS, RESYNC_MS)).toEqual({ ...RELAXED, network });
  });

  it.each([
    ["load-balancer/default/web@0c7e1a529d3b", { loadBalancers: 0 }],
    ["certificate/default/web@0c7e1a529d3b/0123456789ab", { certificates: 0 }],
    ["route/10.244.1.0/24", { network: 0 }],
  ] as const)("reads the list of a unit whose slow action has ended: %s", (unit, read) => {
    const arrived = [{ kind: "remove", unit, asked: true, differences: [] }] as const;
    expect(agesBefore([], OPTIONS, RESYNC_MS, arrived)).toEqual({ ...RELAXED, ...read });
  });

  it("needs no fresh network where routes are not managed", () => {
    expect(agesBefore([aNode({ podCIDRs })], aRenderOptions(), RESYNC_MS)).toEqual(RELAXED);
  });
});

describe("the second plan", () => {
  const situation = (servers: ReturnType<typeof aServer>[]): Situation => {
    const cloud = { servers, loadBalancers: [], certificates: [], network: aNetwork() };
    return assess({ services: [], nodes: [aNode({ id: 1, podCIDRs })], cloud, now: 0 }, OPTIONS);
  };

  it("is not needed when the first changes nothing", () => {
    expect(
      agesToConfirm({ rendered: situation([]).rendered, plan: [] }, RESYNC_MS, () => false)?.certificates,
    ).not.toBe(0);
    expect(
      agesToConfirm({ rendered: { services: [], existing: {} }, plan: [] }, RESYNC_MS, () => false),
    ).toBeUndefined();
  });

  it.each([
    ["a name of its own", { name: "mine" }, { ...RELAXED, loadBalancers: 0 }],
    ["the usual name", {}, undefined],
  ])("of a new load balancer with %s needs lists of these ages: %j", (_, annotations, ages) => {
    const cloud = { servers: [aServer({ id: 1 })], loadBalancers: [], certificates: [] };
    const created = assess(
      { services: [aService({ annotations })], nodes: [aNode({ id: 1 })], cloud, now: 0 },
      aRenderOptions(),
    );
    expect(created.plan).toHaveLength(1);
    expect(agesToConfirm(created, RESYNC_MS, () => false)).toEqual(ages);
  });

  it("needs a fresh list of certificates while one that is asked for is not usable", () => {
    const annotations = { protocol: "https", "http-certificates": "web" };
    const cloud = { servers: [aServer({ id: 1 })], loadBalancers: [], certificates: [] };
    const snapshot = { services: [aService({ annotations })], nodes: [aNode({ id: 1 })], cloud, now: 0 };
    const { rendered } = assess(snapshot, aRenderOptions());
    expect(agesToConfirm({ rendered, plan: [] }, RESYNC_MS, () => false)).toEqual({ ...RELAXED, certificates: 0 });
  });

  it("uses the network that the first has just read, and fresh servers, for a new route", () => {
    const attached = aServer({ id: 1, privateIp: "10.0.0.2" });
    expect(agesToConfirm(situation([attached]), RESYNC_MS, () => false)).toEqual({
      ...RELAXED,
      servers: 3_000,
      network: 1_000,
    });
  });
});

it("reads the servers afresh when a target vanished, because its server may have gone", () => {
  const spec = aBalancerSpec({ targets: [{ kind: "server", serverId: 1, usePrivateIp: false }] });
  const ages = (isDrift: boolean, part = "server-1") => {
    const differences = [{ part, field: "address", want: "public" }];
    const plan = [{ kind: "make", unit: unitOf(spec), spec, differences }] as const;
    return agesToConfirm({ rendered: { services: [], existing: {} }, plan }, RESYNC_MS, () => isDrift);
  };
  expect(ages(true)?.servers).toBe(0);
  expect([ages(false), ages(true, "listener-80")]).toEqual([undefined, undefined]);
});

it.each([
  ["load-balancer/default/web@0c7e1a529d3b", { loadBalancers: 70 }],
  ["certificate/default/web@0c7e1a529d3b/0123456789ab", { certificates: 70 }],
  ["route/10.0.0.0/24", { network: 70 }],
] as const)("after a run on %s, its list proves what came of it", (unit, read) => {
  const due = [{ kind: "remove", unit, asked: true, differences: [] }] as const;
  const ages = agesAfter(due, RESYNC_MS, { sinceWriteMs: () => 70 });
  expect(ages).toEqual({ ...RELAXED, loadBalancers: 10_000, ...read });
});

it.each([
  ["nothing older than the run's last write", 70, 70],
  ["nothing read during a write", 0, 0],
  ["the lists of the turn, if the run has written nothing", Number.POSITIVE_INFINITY, 10_000],
])("after a run, what it touched is proven by %s", (_, sinceWriteMs, network) => {
  const due = [{ kind: "remove", unit: "route/10.0.0.0/24", asked: false, differences: [] }] as const;
  const ages = agesAfter(due, RESYNC_MS, { sinceWriteMs: () => sinceWriteMs });
  expect(ages).toEqual({ ...RELAXED, loadBalancers: 10_000, network });
});
