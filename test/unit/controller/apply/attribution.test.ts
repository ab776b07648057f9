import { describe, expect, it } from "vitest";
import { attributionOf, newBalancers } from "../../../../controller/apply/attribution.ts";
import { routeUnit, unitOf } from "../../../../stacks/units/names.ts";
import type { UnitSpec } from "../../../../stacks/units/spec.ts";
import { aBalancerSpec, aBalancerState, aRoute } from "../../../support/builders.ts";
import { aCertificateSpec, aCertificateState, managed } from "../../../support/certificates.ts";

const EXISTING = aBalancerSpec({ name: "existing" });
const NEW = aBalancerSpec({ name: "new", service: { namespace: "default", name: "new", uid: "2" } });
const ROUTE = aRoute("10.244.0.0/24", "10.0.0.1");
const KNOWN_CERTIFICATE = aCertificateSpec();
const NEW_CERTIFICATE = aCertificateSpec({ name: "new", content: managed("new.example") });
const make = (spec: UnitSpec) => ({ kind: "make", unit: unitOf(spec), spec, differences: [] }) as const;

const attribute = () =>
  attributionOf([EXISTING, NEW, ROUTE, KNOWN_CERTIFICATE, NEW_CERTIFICATE].map(make), {
    [unitOf(EXISTING)]: aBalancerState({ id: 42 }),
    [unitOf(KNOWN_CERTIFICATE)]: aCertificateState({ id: 42 }),
  });

describe("a request", () => {
  it.each([
    ["to a balancer", { method: "PUT", path: "/load_balancers/42" }, unitOf(EXISTING)],
    ["for an action on it", { method: "POST", path: "/load_balancers/42/actions/add_target" }, unitOf(EXISTING)],
    ["to another load balancer", { method: "PUT", path: "/load_balancers/43" }, undefined],
    ["to make one", { method: "POST", path: "/load_balancers", body: '{"name":"new"}' }, unitOf(NEW)],
    ["to make an unknown one", { method: "POST", path: "/load_balancers", body: '{"name":"x"}' }, undefined],
    [
      "for a route",
      { method: "POST", path: "/networks/7/actions/add_route", body: '{"destination":"10.244.0.0/24"}' },
      routeUnit(ROUTE),
    ],
    [
      "for a route that is not planned",
      { method: "POST", path: "/networks/7/actions/delete_route", body: '{"destination":"10.244.9.0/24"}' },
      undefined,
    ],
    [
      "for something else on a network",
      { method: "POST", path: "/networks/7/actions/add_subnet", body: "{}" },
      undefined,
    ],
    ["to a certificate", { method: "DELETE", path: "/certificates/42" }, unitOf(KNOWN_CERTIFICATE)],
    ["to make one of them", { method: "POST", path: "/certificates", body: '{"name":"new"}' }, unitOf(NEW_CERTIFICATE)],
    ["without a body", { method: "POST", path: "/load_balancers" }, undefined],
    ["with a broken one", { method: "POST", path: "/load_balancers", body: "{" }, undefined],
    ["with null for one", { method: "POST", path: "/load_balancers", body: "null" }, undefined],
  ])("%s belongs to its unit", (_, request, unit) => {
    expect(attribute()(request)).toBe(unit);
  });

  it("to a load balancer created in this run is attributed by the response to its creation", () => {
    const of = attribute();
    of({ method: "POST", path: "/load_balancers", body: '{"name":"new"}' }, '{"load_balancer":{"id":99}}');
    expect(of({ method: "POST", path: "/load_balancers/99/actions/add_service" })).toBe(unitOf(NEW));
  });

  it("is attributed whatever the response looks like", () => {
    for (const answer of ["", "null", "<html>", '{"load_balancer":null}', "[]"]) {
      expect(attribute()({ method: "POST", path: "/load_balancers", body: '{"name":"new"}' }, answer)).toBe(
        unitOf(NEW),
      );
    }
  });
});

describe("load balancers that a plan creates", () => {
  const known = newBalancers([make(EXISTING), make(NEW), make(ROUTE)], { [unitOf(EXISTING)]: aBalancerState() });

  it.each([
    ["new", NEW],
    ["existing", undefined],
    ["unknown", undefined],
  ])("%s", (name, spec) => {
    expect(known(name)).toBe(spec);
  });
});
