import { describe, expect, it } from "vitest";
import { renderIngress, sameIngress } from "../../../../../controller/render/service/status.ts";
import { aBalancerState, aListener, NETWORK_ID, someSettings } from "../../../../support/builders.ts";

const V4 = "198.51.100.1";
const V6 = "2001:db8:ffff::1";
const network = { networkId: NETWORK_ID, ip: "10.0.0.5" };

describe("renderIngress (HCCM S19, S20)", () => {
  it.each([
    ["public only", {}, {}, [V4, V6]],
    ["public and private", { network }, {}, [V4, V6, "10.0.0.5"]],
    ["A13: without IPv6", { network }, { ipv6Disabled: true }, [V4, "10.0.0.5"]],
    ["A12: without private addresses", { network }, { disablePrivateIngress: true }, [V4, V6]],
    ["with the public interface off", { network, publicInterface: false }, {}, ["10.0.0.5"]],
    ["with nothing to show", { publicInterface: false }, {}, []],
  ])("%s", (_, balancer, options, ips) => {
    expect(renderIngress(aBalancerState(balancer), someSettings(options))).toEqual(
      ips.map((ip) => ({ ip, ipMode: "VIP" })),
    );
  });

  it("S20: has ipMode Proxy if any port uses the PROXY protocol", () => {
    const listeners = [aListener(80), aListener(443, { proxyProtocol: true })];
    expect(renderIngress(aBalancerState({ listeners }), someSettings({ ipv6Disabled: true }))).toEqual([
      { ip: V4, ipMode: "Proxy" },
    ]);
  });

  it.each(["hostname", "disablePrivateIngress", "ipv6Disabled"] as const)(
    "does not change the status while %s is invalid",
    (name) => {
      expect(renderIngress(aBalancerState(), someSettings({}, [name]))).toBeUndefined();
      expect(renderIngress(aBalancerState(), someSettings({}, ["protocol"]))).toBeDefined();
    },
  );

  it("A14: a host name replaces all addresses", () => {
    expect(renderIngress(aBalancerState({ network }), someSettings({ hostname: "lb.example.com" }))).toEqual([
      { hostname: "lb.example.com" },
    ]);
  });

  it("unlike HCCM A14: an empty host name is none", () => {
    expect(renderIngress(aBalancerState(), someSettings({ hostname: "", ipv6Disabled: true }))).toEqual([
      { ip: V4, ipMode: "VIP" },
    ]);
  });
});

describe("sameIngress (framework S48, S49)", () => {
  it.each([
    ["nothing and nothing", [], [], true],
    ["equal addresses", [{ ip: V4 }], [{ ip: V4 }], true],
    ["the API server's own ipMode", [{ ip: V4, ipMode: "VIP" }], [{ ip: V4 }], true],
    ["another ipMode", [{ ip: V4, ipMode: "Proxy" }], [{ ip: V4 }], false],
    ["another address", [{ ip: V4 }], [{ ip: "198.51.100.2" }], false],
    ["another order", [{ ip: V4 }, { ip: V6 }], [{ ip: V6 }, { ip: V4 }], false],
    ["one more", [{ ip: V4 }], [{ ip: V4 }, { ip: V6 }], false],
    ["a host name instead of an address", [{ ip: "a" }], [{ hostname: "a" }], false],
    ["ports that only one has", [{ ip: V4, ports: [{ port: 80, protocol: "TCP" }] }], [{ ip: V4 }], false],
    ["equal host names", [{ hostname: "a" }], [{ hostname: "a" }], true],
  ])("%s: %s", (_, a, b, expected) => {
    expect(sameIngress(a, b)).toBe(expected);
    expect(sameIngress(b, a)).toBe(expected);
  });
});
