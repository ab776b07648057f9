import { describe, expect, it } from "vitest";
import { scopeOf } from "../../../../controller/apply/scope.ts";
import { removal } from "../../../../controller/guard/plan.ts";
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

const scope = () =>
  scopeOf([EXISTING, NEW, ROUTE, KNOWN_CERTIFICATE, NEW_CERTIFICATE].map(make), {
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
    expect(scope().attribute(request)).toBe(unit);
  });

  it("to a load balancer created in this run is attributed by the response to its creation", () => {
    const of = scope().attribute;
    of({ method: "POST", path: "/load_balancers", body: '{"name":"new"}' }, '{"load_balancer":{"id":99}}');
    expect(of({ method: "POST", path: "/load_balancers/99/actions/add_service" })).toBe(unitOf(NEW));
  });

  it("is attributed whatever the response looks like", () => {
    for (const answer of ["", "null", "<html>", '{"load_balancer":null}', "[]"]) {
      expect(scope().attribute({ method: "POST", path: "/load_balancers", body: '{"name":"new"}' }, answer)).toBe(
        unitOf(NEW),
      );
    }
  });
});

describe("a run", () => {
  const GONE = aRoute("10.244.9.0/24", "10.0.0.9");
  const MOVED = aRoute("10.244.8.0/24", "10.0.0.8");
  const OLD = aBalancerSpec({ name: "old", service: { namespace: "default", name: "old", uid: "3" } });
  const { permits } = scopeOf(
    [
      ...[EXISTING, NEW, ROUTE, MOVED, NEW_CERTIFICATE].map(make),
      ...[OLD, GONE].map((spec) => removal(unitOf(spec), true)),
    ],
    {
      [unitOf(EXISTING)]: aBalancerState({ id: 42, name: "existing" }),
      [unitOf(OLD)]: aBalancerState({ id: 43 }),
      [unitOf(GONE)]: GONE,
      [unitOf(MOVED)]: { ...MOVED, gateway: "10.0.0.1" },
    },
  );
  const GATEWAYS: Record<string, string> = { "10.244.0.0/24": "10.0.0.1", "10.244.8.0/24": "10.0.0.1" };
  const route = (action: string, destination: string, network = 7, gateway = GATEWAYS[destination] ?? "10.0.0.9") =>
    ({
      method: "POST",
      path: `/networks/${network}/actions/${action}`,
      body: JSON.stringify({ destination, gateway }),
    }) as const;
  const withRoute = (method: string, path: string) => ({ ...route("add_route", "10.244.0.0/24"), method, path });
  const named = (path: string, name: string) => ({ method: "POST", path, body: JSON.stringify({ name }) }) as const;

  it.each([
    ["creates a new load balancer", named("/load_balancers", "new"), true],
    ["creates a new certificate", named("/certificates", "new"), true],
    ["never creates one that is listed", named("/load_balancers", "existing"), false],
    ["changes one", { method: "PUT", path: "/load_balancers/42" }, true],
    ["acts on one", { method: "POST", path: "/load_balancers/42/actions/add_target" }, true],
    ["takes no other action", { method: "POST", path: "/load_balancers/42/actions/request_console" }, false],
    ["never deletes one that it changes", { method: "DELETE", path: "/load_balancers/42" }, false],
    ["deletes one that is to go", { method: "DELETE", path: "/load_balancers/43" }, true],
    ["changes nothing about one that is to go", { method: "PUT", path: "/load_balancers/43" }, false],
    ["touches no other", { method: "DELETE", path: "/load_balancers/44" }, false],
    ["accepts no query", { method: "DELETE", path: "/load_balancers/43?force=1" }, false],
    ["accepts no longer path", { method: "DELETE", path: "/load_balancers/43/x" }, false],
    ["accepts no other method", { method: "PATCH", path: "/load_balancers/42" }, false],
    ["adds a route", route("add_route", "10.244.0.0/24"), true],
    ["adds it in its network only", route("add_route", "10.244.0.0/24", 8), false],
    ["adds it with its gateway only", route("add_route", "10.244.0.0/24", 7, "10.0.0.66"), false],
    ["adds none by another method", withRoute("PUT", "/networks/7/actions/add_route"), false],
    ["adds none with a query", withRoute("POST", "/networks/7/actions/add_route?x"), false],
    ["deletes no server", withRoute("DELETE", "/servers/4711"), false],
    ["deletes no server behind a query (poc/gateway)", withRoute("DELETE", "/servers/4711?x=_route"), false],
    ["resets no password behind one", withRoute("POST", "/servers/4711/actions/reset_password?_route"), false],
    ["resets no password at all", withRoute("POST", "/servers/4711/actions/reset_password"), false],
    ["deletes no network (poc/attribution)", withRoute("DELETE", "/networks/7?_route"), false],
    ["deletes no route of another network", withRoute("POST", "/networks/999/actions/delete_route"), false],
    ["deletes no volume that ends like one", withRoute("DELETE", "/volumes/1_route"), false],
    ["deletes no route that does not exist", route("delete_route", "10.244.0.0/24"), false],
    ["deletes a route that is to go", route("delete_route", "10.244.9.0/24"), true],
    ["does not add it again", route("add_route", "10.244.9.0/24"), false],
    ["replaces a route to another gateway", route("delete_route", "10.244.8.0/24"), true],
    [
      "deletes no route with a gateway that it does not have",
      route("delete_route", "10.244.8.0/24", 7, "10.0.0.8"),
      false,
    ],
    ["changes nothing else about a network", route("delete_subnet", "10.244.9.0/24"), false],
  ])("%s", (_, request, expected) => {
    expect(permits(request)).toBe(expected);
  });
});

describe("load balancers that a plan creates", () => {
  const plan = [make(EXISTING), make(NEW), make(ROUTE)];
  const { newBalancer } = scopeOf(plan, { [unitOf(EXISTING)]: aBalancerState() });

  it.each([
    ["new", NEW],
    ["existing", undefined],
    ["unknown", undefined],
  ])("%s", (name, spec) => {
    expect(newBalancer(name)).toBe(spec);
  });
});
