import { describe, expect, it } from "vitest";
import {
  COMPONENT_TYPE,
  certificateUnit,
  componentUrn,
  listenerPart,
  loadBalancerUnit,
  PROJECT,
  partName,
  routeUnit,
  SERVICE_UID_LABEL,
  targetPart,
  unitOf,
  unitOfUrn,
  unitsPattern,
} from "../../../../stacks/units/names.ts";
import { aBalancerSpec, aRoute, UID } from "../../../support/builders.ts";
import { aCertificateSpec, managed, uploaded } from "../../../support/certificates.ts";

const UNIT = "load-balancer/default/web@0c7e1a529d3b";
/** The last part is the beginning of `printf example.com | sha256sum`. */
const CERTIFICATE = "certificate/default/web@0c7e1a529d3b/a379a6f6eeaf";

// States, targets and audit records contain these names, and Pulumi would delete and recreate a renamed resource.
describe("names that must not change", () => {
  it.each([
    ["the project", PROJECT, "lotse"],
    ["the owner's label, shared with HCCM", SERVICE_UID_LABEL, "hcloud-ccm/service-uid"],
    ["a load balancer", loadBalancerUnit({ namespace: "default", name: "web", uid: UID }), UNIT],
    [
      "a load balancer with a short UID",
      loadBalancerUnit({ namespace: "a", name: "b", uid: "1-2" }),
      "load-balancer/a/b@12",
    ],
    ["a load balancer's spec", unitOf(aBalancerSpec()), UNIT],
    ["a route", routeUnit({ destination: "10.244.0.0/24" }), "route/10.244.0.0/24"],
    ["a route's spec", unitOf(aRoute("10.244.0.0/24", "10.0.0.1")), "route/10.244.0.0/24"],
    ["a managed certificate's spec", unitOf(aCertificateSpec()), CERTIFICATE],
    ["a copy of it", certificateUnit(aCertificateSpec(), 78), `${CERTIFICATE}-78`],
    [
      "an uploaded certificate's spec",
      unitOf(aCertificateSpec({ content: uploaded("AB:CD:EF:01:23:45:67:89") })),
      "certificate/default/web@0c7e1a529d3b/abcdef012345",
    ],
    [
      "an uploaded certificate with a chain",
      unitOf(aCertificateSpec({ content: uploaded("AB:CD:EF:01:23:45:67:89", "PEM", "0123456789abcdef") })),
      "certificate/default/web@0c7e1a529d3b/0123456789ab",
    ],
    ["a part", partName(UNIT, "balancer"), `${UNIT}#balancer`],
    ["a server target", targetPart({ kind: "server", serverId: 12, usePrivateIp: true }), "server-12"],
    ["an IP target", targetPart({ kind: "ip", ip: "203.0.113.1" }), "ip-203.0.113.1"],
    ["a listener", listenerPart(80), "listener-80"],
    ["a load balancer's type", COMPONENT_TYPE["load-balancer"], "lotse:index:LoadBalancer"],
    ["a route's type", COMPONENT_TYPE.route, "lotse:index:Route"],
    ["a certificate's type", COMPONENT_TYPE.certificate, "lotse:index:Certificate"],
    [
      "a certificate's URN",
      componentUrn("prod", CERTIFICATE),
      `urn:pulumi:prod::lotse::lotse:index:Certificate::${CERTIFICATE}`,
    ],
    ["a load balancer's URN", componentUrn("prod", UNIT), `urn:pulumi:prod::lotse::lotse:index:LoadBalancer::${UNIT}`],
    [
      "a route's URN",
      componentUrn("prod", "route/10.244.0.0/24"),
      "urn:pulumi:prod::lotse::lotse:index:Route::route/10.244.0.0/24",
    ],
    ["the URNs of all units and their parts", unitsPattern("prod"), "urn:pulumi:prod::lotse::lotse:**"],
  ])("%s", (_, name, expected) => {
    expect(name).toBe(expected);
  });
});

it("distinguishes Services with the same name and different UIDs", () => {
  const unit = (uid: string) => loadBalancerUnit({ namespace: "default", name: "web", uid });
  expect(unit("0c7e1a52-9d3b-4f60-8a71-5b2e6f4d9c18")).not.toBe(unit("1c7e1a52-9d3b-4f60-8a71-5b2e6f4d9c18"));
});

it("distinguishes certificates by their content only", () => {
  const unit = (given: Parameters<typeof aCertificateSpec>[0]) => unitOf(aCertificateSpec(given));
  expect(unit({ name: "other", labels: {} })).toBe(unit({}));
  const contents = [
    managed("example.com"),
    managed("a.example.com", "example.com"),
    { ...managed("example.com"), isStaging: true },
  ];
  expect(new Set(contents.map((content) => unit({ content }))).size).toBe(3);
});

describe("unitOfUrn", () => {
  const within = "urn:pulumi:prod::lotse::lotse:index:LoadBalancer$hcloud:index/loadBalancerTarget:LoadBalancerTarget";
  it.each([
    ["a unit's component", componentUrn("prod", UNIT), UNIT],
    ["a route's component", componentUrn("prod", "route/10.244.0.0/24"), "route/10.244.0.0/24"],
    ["a certificate's component", componentUrn("prod", CERTIFICATE), CERTIFICATE],
    ["a certificate", `${within}::${CERTIFICATE}#certificate`, CERTIFICATE],
    ["a part", `${within}::${UNIT}#server-1`, UNIT],
    ["a part with an IPv6 address", `${within}::${UNIT}#ip-2001:db8::1`, UNIT],
    ["the stack", "urn:pulumi:prod::lotse::pulumi:pulumi:Stack::lotse-prod", undefined],
    ["a provider", "urn:pulumi:prod::lotse::pulumi:providers:hcloud::default_1_41_0", undefined],
    ["nothing", "", undefined],
  ])("finds the unit of %s", (_, urn, unit) => {
    expect(unitOfUrn(urn)).toBe(unit);
  });
});
