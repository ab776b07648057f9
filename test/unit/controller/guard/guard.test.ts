import { describe, expect, it } from "vitest";
import { FINALIZER } from "../../../../controller/formats/finalizer.ts";
import { doubtfulServers, GUARD_LIMITS, guard, holdTargets } from "../../../../controller/guard/guard.ts";
import { assess, type PlannedUnit, type Situation } from "../../../../controller/guard/plan.ts";
import { loadBalancerUnit, routeUnit, targetPart, unitOf } from "../../../../stacks/units/names.ts";
import type { UnitState } from "../../../../stacks/units/spec.ts";
import {
  aBalancer,
  aBalancerService,
  aBalancerSpec,
  aBalancerState,
  aNode,
  aRenderOptions,
  aRoute,
  aServer,
  aServerTarget,
  aService,
  UID,
} from "../../../support/builders.ts";
import { NO_CERTIFICATES } from "../../../support/certificates.ts";

const remove = (count: number, asked: boolean): PlannedUnit[] =>
  Array.from({ length: count }, (_, index) => ({
    kind: "remove",
    unit: routeUnit({ destination: `10.0.${index}.0/24` }),
    asked,
    differences: [],
  }));
const MAKE: PlannedUnit = {
  kind: "make",
  unit: "route/10.9.0.0/24",
  spec: aRoute("10.9.0.0/24", "10.0.0.1"),
  differences: [],
};

/** A plan for a cluster in which so many units of each kind exist. */
const situation = (plan: readonly PlannedUnit[], routes: number, balancers = 0): Situation => {
  const states: UnitState[] = [
    ...Array.from({ length: routes }, (_, index) => aRoute(`10.0.${index}.0/24`, "10.0.0.1")),
    ...Array.from({ length: balancers }, () => aBalancerState()),
  ];
  return { rendered: { services: [], existing: Object.fromEntries(states.entries()) }, plan };
};

describe("guard", () => {
  it.each([
    ["nothing to remove", 0, 0, 0, true],
    ["few of few", 5, 5, 0, true],
    ["one more than few, a third of all", 6, 18, 0, true],
    ["one more than few, more than a third", 6, 17, 0, false],
    ["a third of many", 100, 300, 0, true],
    ["all of many", 300, 300, 0, false],
    ["all routes of a cluster with many load balancers", 30, 30, 60, false],
  ])("%s: %d of %d pass, beside %d load balancers: %s", (_, count, total, balancers, passes) => {
    const plan = [...remove(count, false), MAKE];
    const guarded = guard(situation(plan, total, balancers));
    expect(guarded.plan).toEqual(passes ? plan : [MAKE]);
    expect([guarded.stopped === undefined, guarded.held]).toEqual([passes, passes ? 0 : count]);
  });

  it("lets every removal pass that an object asks for", () => {
    const plan = remove(300, true);
    expect(guard(situation(plan, 300))).toEqual({ plan, held: 0 });
  });

  it("holds back only what no object asked for", () => {
    const asked = remove(10, true);
    expect(guard(situation([...asked, ...remove(10, false)], 20)).plan).toEqual(asked);
  });

  it("says how many of how many, and names the first", () => {
    expect(guard(situation(remove(9, false), 9, 40)).stopped).toBe(
      "9 of 9 routes would be removed although no object asks for it: route/10.0.0.0/24, route/10.0.1.0/24, route/10.0.2.0/24 and 6 more",
    );
  });

  it("respects other limits", () => {
    expect(guard(situation(remove(1, false), 1), { removals: 0, share: 0 }).plan).toEqual([]);
  });

  describe("load balancers that would move, which replaces all their private targets", () => {
    const refOf = (index: number) => ({ namespace: "default", name: `web-${index}`, uid: UID });
    const move = (count: number, field: "id" | "subnet" | "ip") =>
      Array.from({ length: count }, (_, index): PlannedUnit => {
        const spec = aBalancerSpec({ service: refOf(index) });
        return {
          kind: "make",
          unit: unitOf(spec),
          spec,
          differences: [{ part: "network", field, want: "2", have: "1" }],
        };
      });
    /** As many Services, whose subnet comes from there. */
    const services = (count: number, privateSubnet: string) =>
      Array.from({ length: count }, (_, index) => ({
        unit: loadBalancerUnit(refOf(index)),
        kind: "balance",
        settings: { sources: { privateSubnet } },
      })) as unknown as Situation["rendered"]["services"];
    const [byVariable, byAnnotation] = ["HCLOUD_LOAD_BALANCERS_PRIVATE_SUBNET_IP_RANGE", "annotation x/y"];

    it("are held back when they are many, because no Service asks for another network", () => {
      expect(guard(situation(move(5, "id"), 0, 5)).held).toBe(0);
      const { plan, stopped } = guard(situation([...move(6, "id"), MAKE], 50, 6));
      expect(plan).toEqual([MAKE]);
      expect(stopped).toMatch(
        "6 of 6 load balancers would be moved to another network or subnet although no object asks for it",
      );
    });

    it.each([
      ["another default", byVariable, 6],
      ["annotations", byAnnotation, 0],
    ])("are held back for %s of the subnet: %s → %d", (_, source, held) => {
      const moving = situation(move(6, "subnet"), 0, 6);
      const rendered = { ...moving.rendered, services: services(6, source) };
      expect(guard({ ...moving, rendered }).held).toBe(held);
      expect(guard({ rendered, plan: move(6, "ip") }).held, "another address in the same subnet").toBe(0);
    });
  });
});

describe("targets", () => {
  const ids = (count: number) => Array.from({ length: count }, (_, index) => index + 1);
  const nodesOf = (count: number, given: Parameters<typeof aNode>[0] = {}) =>
    ids(count).map((id) => aNode({ id, ready: "True", ...given }));
  /** Nine targets, of which the Nodes and servers given are left. */
  const lose = (
    nodes: readonly ReturnType<typeof aNode>[],
    servers: readonly number[],
    more: readonly number[] = [],
  ) => {
    const balancer = aBalancer({
      name: "a0c7e1a529d3b4f608a715b2e6f4d9c1",
      labels: { "hcloud-ccm/service-uid": UID },
      services: [aBalancerService(80)],
      targets: ids(9).map((id) => aServerTarget(id)),
    });
    const other = { ...balancer, id: 43, labels: { "hcloud-ccm/service-uid": "1" }, name: "a1" };
    const loadBalancers = [balancer, ...more.map((id) => ({ ...other, targets: [aServerTarget(id)] }))];
    const services = [aService(), aService({ name: "other", uid: "1" })].slice(0, loadBalancers.length);
    const cloud = { servers: servers.map((id) => aServer({ id })), loadBalancers, certificates: [] };
    return assess({ services, nodes, cloud, now: 0 }, aRenderOptions());
  };
  const held = (planned: Situation, nodes: readonly ReturnType<typeof aNode>[]) =>
    holdTargets(planned, nodes, GUARD_LIMITS);
  const UNIT = loadBalancerUnit({ namespace: "default", name: "web", uid: UID });
  const EXCLUDED = { labels: { "node.kubernetes.io/exclude-from-external-load-balancers": "" } };

  it.each([
    ["servers missing from the list", nodesOf(9), ids(3), 6, true],
    ["few servers missing from the list", nodesOf(9), ids(4), 5, false],
    ["Nodes missing", nodesOf(3), ids(9), 6, true],
    ["Nodes excluded, which their labels ask for", [...nodesOf(3), ...nodesOf(9, EXCLUDED).slice(3)], ids(9), 6, false],
    ["Nodes being deleted", [...nodesOf(3), ...nodesOf(9, { isDeleted: true }).slice(3)], ids(9), 6, false],
  ])("with %s stay if they are too many", (_, nodes, servers, lost, isHeld) => {
    const planned = lose(nodes, servers);
    const step = planned.plan.find(({ unit }) => unit === UNIT);
    expect(step?.differences.filter(({ want }) => want === undefined)).toHaveLength(lost);
    const { plan, heldTargets } = held(planned, nodes);
    expect(plan).toEqual(isHeld ? [] : planned.plan);
    expect(heldTargets).toEqual(isHeld ? { names: expect.objectContaining({ length: lost }), total: 9 } : undefined);
  });

  it.each([
    ["go with Nodes that have their addresses", true, undefined],
    ["stay without Nodes", false, { names: expect.objectContaining({ length: 6 }), total: 6 }],
  ])("on dedicated servers %s", (_, hasNodes, expected) => {
    const ips = ids(6).map((number) => `203.0.113.${number}`);
    const nodes = ips.map((address, index) => {
      return aNode({ providerID: `hrobot://${index}`, addresses: [{ type: "ExternalIP", address }] });
    });
    const targets = ips.map((ip) => ({ kind: "ip", ip }) as const);
    const differences = targets.map((target) => ({ part: targetPart(target), field: "address", have: "public" }));
    const spec = aBalancerSpec();
    const services = [{ kind: "balance", unit: UNIT, spec, leftOut: [], certificates: NO_CERTIFICATES }];
    const rendered = {
      services,
      existing: { [UNIT]: aBalancerState({ targets }) },
    } as unknown as Situation["rendered"];
    const planned: Situation = { rendered, plan: [{ kind: "make", unit: UNIT, spec, differences }] };
    expect(held(planned, hasNodes ? nodes : []).heldTargets).toEqual(expected);
  });

  it("go with a Service that is deleted, whose load balancer stays for others", () => {
    const labels = { "hcloud-ccm/service-uid": UID, "lotse/adopted": "true" };
    const balancer = aBalancer({ labels, targets: ids(9).map((id) => aServerTarget(id)) });
    const services = [aService({ isDeleted: true, finalizers: [FINALIZER] })];
    const cloud = { servers: [], loadBalancers: [balancer], certificates: [] };
    const planned = assess({ services, nodes: [], cloud, now: 0 }, aRenderOptions());
    expect(planned.plan).toMatchObject([{ kind: "make", unit: UNIT }]);
    expect(held(planned, []).heldTargets).toBeUndefined();
  });

  it("are counted once, however many load balancers a tenant has on other servers", () => {
    const nodes = nodesOf(9);
    expect(held(lose(nodes, ids(3), [1]), nodes).heldTargets?.total).toBe(9);
  });

  it("of Ready Nodes need a second witness, if it is the list that removes them", () => {
    const [gone, unready] = [aNode({ id: 8, ready: "True" }), aNode({ id: 9, ready: "Unknown" })];
    const excluded = aNode({ id: 7, ready: "True", ...EXCLUDED });
    const nodes = [...nodesOf(6), excluded, gone, unready];
    expect(doubtfulServers(lose(nodes, ids(6)), nodes)).toEqual([8]);
  });
});
