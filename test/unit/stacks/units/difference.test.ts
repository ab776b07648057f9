import { describe, expect, it } from "vitest";
import { differences } from "../../../../stacks/units/difference.ts";
import { aBalancerSpec, aBalancerState, aListener, aRoute, NETWORK_ID } from "../../../support/builders.ts";
import { aCertificateSpec, aCertificateState, uploaded } from "../../../support/certificates.ts";

const HTTP = {
  stickySessions: true,
  cookieName: "SID",
  cookieLifetimeSeconds: 300,
  timeoutIdleSeconds: 50,
  redirectHttp: false,
  certificateIds: [2, 1],
};

describe("differences of a load balancer", () => {
  it.each([
    ["an empty one", {}, {}],
    ["labels in another order", { labels: { a: "1", b: "2" } }, { labels: { b: "2", a: "1" } }],
    [
      "listeners in another order",
      { listeners: [aListener(80), aListener(81)] },
      { listeners: [aListener(81), aListener(80)] },
    ],
    [
      "certificates in another order",
      { listeners: [aListener(80, { protocol: "https", http: HTTP })] },
      { listeners: [aListener(80, { protocol: "https", http: { ...HTTP, certificateIds: [1, 2] } })] },
    ],
    [
      "a private address that the API chose",
      { network: { networkId: NETWORK_ID, publicInterface: true } },
      { network: { networkId: NETWORK_ID, ip: "10.0.0.5" } },
    ],
    [
      "a subnet that is not requested",
      { network: { networkId: NETWORK_ID, publicInterface: true } },
      { network: { networkId: NETWORK_ID, ip: "10.0.0.5", subnet: "10.0.0.0/24" } },
    ],
    ["reverse DNS that is not requested", {}, { rdns: { ipv4: "a.example.com" } }],
    ["reverse DNS that matches", { rdns: { ipv4: "a" } }, { rdns: { ipv4: "a", ipv6: "b" } }],
    ["another location, which never moves", { place: { location: "hel1" } }, {}],
    ["a public interface that only an attachment could switch", {}, { publicInterface: false }],
    ["HCCM S13f: a network when the cluster has none configured", {}, { network: { networkId: 8, ip: "10.0.0.5" } }],
  ] as const)("finds none: %s", (_, spec, state) => {
    expect(differences(aBalancerSpec(spec), aBalancerState(state))).toEqual([]);
  });

  it.each([
    ["its name", {}, { name: "old" }, [{ part: "balancer", field: "name", want: "balancer", have: "old" }]],
    ["its type", { type: "lb21" }, {}, [{ part: "balancer", field: "type", want: "lb21", have: "lb11" }]],
    [
      "its algorithm",
      {},
      { algorithm: "least_connections" },
      [{ part: "balancer", field: "algorithm", want: "round_robin", have: "least_connections" }],
    ],
    [
      "its protection",
      { deleteProtection: true },
      {},
      [{ part: "balancer", field: "delete protection", want: "true", have: "false" }],
    ],
    ["a label too few", { labels: { a: "1" } }, { labels: {} }, [{ part: "balancer", field: "label a", want: "1" }]],
    ["a label too many", { labels: {} }, { labels: { a: "1" } }, [{ part: "balancer", field: "label a", have: "1" }]],
    [
      "no attachment",
      { network: { networkId: 7, publicInterface: true } },
      {},
      [{ part: "network", field: "id", want: "7" }],
    ],
    [
      "another network",
      { network: { networkId: 7, publicInterface: true } },
      { network: { networkId: 8, ip: "10.0.0.5" } },
      [{ part: "network", field: "id", want: "7", have: "8" }],
    ],
    [
      "another private address",
      { network: { networkId: 7, publicInterface: true, ip: "10.0.0.9" } },
      { network: { networkId: 7, ip: "10.0.0.5" } },
      [{ part: "network", field: "ip", want: "10.0.0.9", have: "10.0.0.5" }],
    ],
    [
      "another subnet",
      { network: { networkId: NETWORK_ID, publicInterface: true, subnet: "10.0.1.0/24" } },
      { network: { networkId: NETWORK_ID, ip: "10.0.0.5", subnet: "10.0.0.0/24" } },
      [{ part: "network", field: "subnet", want: "10.0.1.0/24", have: "10.0.0.0/24" }],
    ],
    [
      "names: another, none yet, one too many",
      { rdns: { ipv4: "a" } },
      { rdns: { ipv4: "b" } },
      [{ part: "rdns-ipv4", field: "name", want: "a", have: "b" }],
    ],
    ["a name that is missing", { rdns: { ipv6: "a" } }, {}, [{ part: "rdns-ipv6", field: "name", want: "a" }]],
    [
      "a name that should go",
      { rdns: { ipv6: null } },
      { rdns: { ipv6: "a" } },
      [{ part: "rdns-ipv6", field: "name", have: "a" }],
    ],
    [
      "its public interface",
      { network: { networkId: 7, publicInterface: false } },
      { network: { networkId: 7, ip: "10.0.0.5" } },
      [{ part: "network", field: "public interface", want: "false", have: "true" }],
    ],
    [
      "a target's network",
      { targets: [{ kind: "server", serverId: 1, usePrivateIp: true }] },
      { targets: [{ kind: "server", serverId: 1, usePrivateIp: false }] },
      [{ part: "server-1", field: "address", want: "private", have: "public" }],
    ],
    [
      "a foreign target",
      {},
      { targets: [{ kind: "ip", ip: "203.0.113.7" }] },
      [{ part: "ip-203.0.113.7", field: "address", have: "public" }],
    ],
    [
      "one field of one listener",
      { listeners: [aListener(80, { proxyProtocol: true }), aListener(81)] },
      { listeners: [aListener(80), aListener(81)] },
      [{ part: "listener-80", field: "proxyProtocol", want: "true", have: "false" }],
    ],
  ] as const)("names %s", (_, spec, state, expected) => {
    expect(differences(aBalancerSpec(spec), aBalancerState(state))).toEqual(expected);
  });

  it("lists every field of a missing listener, including nested ones", () => {
    const http = { domain: "", path: "/", response: "", tls: false, statusCodes: ["2??", "301"] };
    const listener = aListener(80, { healthCheck: { ...aListener(80).healthCheck, protocol: "http", http } });
    const found = differences(aBalancerSpec({ listeners: [listener] }), aBalancerState());
    expect(found).toContainEqual({ part: "listener-80", field: "healthCheck http statusCodes", want: "2??,301" });
    expect(found.every(({ part, have }) => part === "listener-80" && have === undefined)).toBe(true);
  });

  it("sorts by part, ports and ids as numbers, and then by field", () => {
    const spec = aBalancerSpec({
      network: { networkId: NETWORK_ID, publicInterface: true },
      rdns: { ipv4: "a" },
      listeners: [aListener(443), aListener(80)],
      targets: [10, 9].map((serverId) => ({ kind: "server", serverId, usePrivateIp: true })),
    });
    const found = differences(spec, undefined);
    const parts = ["balancer", "network", "rdns-ipv4", "listener-80", "listener-443", "server-9", "server-10"];
    expect([...new Set(found.map(({ part }) => part))]).toEqual(parts);
    const fields = found.flatMap(({ part, field }) => (part === "balancer" ? [field] : []));
    expect(fields).toEqual(fields.toSorted());
  });

  it("treats a state of another kind as absent", () => {
    expect(differences(aBalancerSpec(), aRoute("10.0.0.0/24", "10.0.0.1"))).toEqual(
      differences(aBalancerSpec(), undefined),
    );
  });
});

describe("differences of a route", () => {
  const route = aRoute("10.244.0.0/24", "10.0.0.1");
  it("finds none if equal, all without a state, and another gateway", () => {
    expect(differences(route, route)).toEqual([]);
    expect(differences(route, undefined)).toEqual([
      { part: "route", field: "gateway", want: "10.0.0.1" },
      { part: "route", field: "network id", want: "7" },
    ]);
    expect(differences(route, { ...route, gateway: "10.0.0.2" })).toEqual([
      { part: "route", field: "gateway", want: "10.0.0.1", have: "10.0.0.2" },
    ]);
  });
});

describe("differences of a certificate", () => {
  it("finds none if equal, even if the text of the certificate differs", () => {
    expect(differences(aCertificateSpec(), aCertificateState())).toEqual([]);
    const [wanted, listed] = [uploaded("AB:CD", "PEM\n"), uploaded("AB:CD", "PEM")];
    expect(differences(aCertificateSpec({ content: wanted }), aCertificateState({ content: listed }))).toEqual([]);
  });

  it("finds all without a state, and never shows the certificate itself", () => {
    const content = uploaded("AB:CD", "-----BEGIN");
    expect(differences(aCertificateSpec({ name: "n", labels: { a: "1" }, content }), undefined)).toEqual([
      { part: "certificate", field: "fingerprint", want: "AB:CD" },
      { part: "certificate", field: "label a", want: "1" },
      { part: "certificate", field: "name", want: "n" },
    ]);
  });

  it("finds another chain of the same certificate", () => {
    const content = uploaded("AB:CD", "PEM", "0123");
    const state = aCertificateState({ content: uploaded("AB:CD") });
    expect(differences(aCertificateSpec({ content }), state)).toEqual([
      { part: "certificate", field: "chain", want: "0123" },
    ]);
    expect(differences(aCertificateSpec({ content }), aCertificateState({ content }))).toEqual([]);
  });

  it("finds another name and other labels", () => {
    const state = aCertificateState({ name: "old", labels: { ...aCertificateSpec().labels, foreign: "x" } });
    expect(differences(aCertificateSpec({ name: "new" }), state)).toEqual([
      { part: "certificate", field: "label foreign", have: "x" },
      { part: "certificate", field: "name", want: "new", have: "old" },
    ]);
  });
});
