import { describe, expect, it } from "vitest";
import { isSameRequest, type PlannedUnit, planRun, portionsOf, removal } from "../../../../controller/guard/plan.ts";
import type { Rendered } from "../../../../controller/render/cluster.ts";
import type { ServiceIntent } from "../../../../controller/render/intents.ts";
import { routeUnit, unitOf } from "../../../../stacks/units/names.ts";
import type { LoadBalancerSpec } from "../../../../stacks/units/spec.ts";
import { aBalancerSpec, aBalancerState, aRoute, aService, someSettings } from "../../../support/builders.ts";
import { aCertificateState, NO_CERTIFICATES } from "../../../support/certificates.ts";

const SPEC = aBalancerSpec();
const UNIT = unitOf(SPEC);
const ROUTE = aRoute("10.120.0.0/24", "10.0.0.1");
const ROUTE_UNIT = routeUnit(ROUTE);

const balance = (spec: LoadBalancerSpec): ServiceIntent => ({
  kind: "balance",
  service: aService(),
  unit: unitOf(spec),
  spec,
  settings: someSettings(),
  mistakes: [],
  notes: [],
  leftOut: [],
  certificates: NO_CERTIFICATES,
});
const release: ServiceIntent = { kind: "retire", service: aService(), unit: UNIT, certificates: NO_CERTIFICATES };
const refused: ServiceIntent = { kind: "refused", service: aService(), unit: UNIT, mistakes: ["x"] };
const plan = (rendered: Partial<Rendered>) => planRun({ services: [], existing: {}, ...rendered });

describe("planRun", () => {
  it("unlike HCCM V2, framework S12, S23: is empty for a cluster at rest", () => {
    expect(
      plan({
        services: [balance(SPEC)],
        routes: { wanted: [{ node: "n", spec: ROUTE }], refused: [], stale: [], kept: [] },
        existing: { [UNIT]: aBalancerState(), [ROUTE_UNIT]: ROUTE },
      }),
    ).toEqual([]);
  });

  it("creates what is missing, with every field as a difference", () => {
    const [unit] = plan({ services: [balance(SPEC)] });
    expect(unit).toMatchObject({ kind: "make", unit: UNIT, spec: SPEC });
    expect(unit?.differences).toContainEqual({ part: "balancer", field: "name", want: "balancer" });
  });

  it("changes what differs, and names the differences", () => {
    const planned = plan({ services: [balance(SPEC)], existing: { [UNIT]: aBalancerState({ type: "lb31" }) } });
    expect(planned).toEqual([
      {
        kind: "make",
        unit: UNIT,
        spec: SPEC,
        differences: [{ part: "balancer", field: "type", want: "lb11", have: "lb31" }],
      },
    ]);
  });

  it("changes a load balancer that is kept until it has no owner", () => {
    const keeps = { spec: aBalancerSpec({ labels: { "lotse/released": "x" } }), reason: "" };
    const intent: ServiceIntent = { ...release, keeps };
    const existing = { [UNIT]: aBalancerState({ deleteProtection: false }) };
    expect(plan({ services: [intent], existing })).toMatchObject([{ kind: "make", unit: UNIT, spec: keeps.spec }]);
    expect(plan({ services: [intent] })).toEqual([]);
  });

  it("framework R09, R11: creates missing routes and removes stale ones, which no object asked for", () => {
    const stale = aRoute("10.120.9.0/24", "10.0.0.9");
    const planned = plan({
      routes: { wanted: [{ node: "n", spec: ROUTE }], refused: [], stale: [stale], kept: [] },
    });
    expect(planned).toMatchObject([
      { kind: "make", unit: ROUTE_UNIT },
      { kind: "remove", unit: routeUnit(stale), asked: false },
    ]);
  });

  it("unlike HCCM R5: changes a route with another gateway as one unit", () => {
    const existing = { [ROUTE_UNIT]: aRoute("10.120.0.0/24", "10.0.0.99") };
    expect(
      plan({ routes: { wanted: [{ node: "n", spec: ROUTE }], refused: [], stale: [], kept: [] }, existing }),
    ).toEqual([
      {
        kind: "make",
        unit: ROUTE_UNIT,
        spec: ROUTE,
        differences: [{ part: "route", field: "gateway", want: "10.0.0.1", have: "10.0.0.99" }],
      },
    ]);
  });

  it("removes the load balancer of a Service that asks for it", () => {
    expect(plan({ services: [release], existing: { [UNIT]: aBalancerState() } })).toMatchObject([
      { kind: "remove", unit: UNIT, asked: true },
    ]);
  });

  it("removes certificates that Services no longer ask for, which is asked for", () => {
    const stale = [unitOf(aCertificateState())];
    for (const intent of [balance(SPEC), release])
      expect(
        plan({ services: [{ ...intent, certificates: { ...NO_CERTIFICATES, stale } } as ServiceIntent] }),
      ).toContainEqual(expect.objectContaining({ kind: "remove", unit: stale[0], asked: true }));
  });

  it("HCCM S21: removes nothing that does not exist or has delete protection", () => {
    expect(plan({ services: [release] })).toEqual([]);
    const existing = { [UNIT]: aBalancerState({ deleteProtection: true }) };
    expect(plan({ services: [release], existing })).toEqual([]);
  });

  it("leaves the load balancer of a refused Service alone", () => {
    expect(plan({ services: [refused], existing: { [UNIT]: aBalancerState() } })).toEqual([]);
  });
});

describe("the portions of a plan", () => {
  const step = (unit: string, parts: number): PlannedUnit => ({
    kind: "remove",
    unit: `load-balancer/${unit}`,
    asked: true,
    differences: Array.from({ length: 2 * parts }, (_, index) => ({
      part: `server-${index % parts}`,
      field: "address",
    })),
  });
  const portions = (...steps: readonly PlannedUnit[]) =>
    portionsOf(steps).map((portion) => portion.map(({ unit }) => unit.slice("load-balancer/".length)));

  it("are none for an empty plan, and one for a small one", () => {
    expect(portions()).toEqual([]);
    expect(portions(step("a", 499), step("b", 501))).toEqual([["a", "b"]]);
  });

  it("are runs of limited size, with small steps first", () => {
    expect(portions(step("a", 600), step("b", 400), step("c", 1), step("d", 600))).toEqual([["c", "b"], ["a"], ["d"]]);
  });

  it("contain a step that is too large on its own", () => {
    expect(portions(step("a", 1_001), step("b", 1))).toEqual([["b"], ["a"]]);
  });
});

describe("a request", () => {
  const make = (spec: LoadBalancerSpec, have = "lb31") => {
    return { kind: "make", unit: UNIT, spec, differences: [{ part: "balancer", field: "type", have }] } as const;
  };
  it.each([
    ["the same spec, whatever exists", make(SPEC), make(aBalancerSpec(), "lb21"), true],
    ["another spec", make(SPEC), make(aBalancerSpec({ type: "lb21" })), false],
    ["a removal instead", make(SPEC), removal(UNIT, true), false],
    ["a removal again", removal(UNIT, true), removal(UNIT, false), true],
  ])("is compared with one for %s", (_, a, b, expected) => {
    expect([isSameRequest(a, b), isSameRequest(b, a)]).toEqual([expected, expected]);
  });
});
