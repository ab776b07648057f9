import { describe, expect, it } from "vitest";
import { balancerState } from "../../../../../controller/render/service/load-balancer-state.ts";
import {
  aBalancer,
  aBalancerService,
  aBalancerState,
  aListener,
  aNetwork,
  aServerTarget,
  NETWORK_ID,
} from "../../../../support/builders.ts";

describe("balancerState", () => {
  it("converts what the API lists into state", () => {
    const labels = { "hcloud-ccm/service-uid": "0c7e1a52-9d3b-4f60-8a71-5b2e6f4d9c18" };
    expect(balancerState(aBalancer({ labels }))).toEqual(aBalancerState());
  });

  it("reads the network attachment and the disabled public interface", () => {
    const state = balancerState(aBalancer({ isPublic: false, private_net: [{ network: 7, ip: "10.0.0.5" }] }));
    expect(state).toMatchObject({ publicInterface: false, network: { networkId: 7, ip: "10.0.0.5" } });
  });

  it.each([
    ["10.0.1.5", "10.0.1.0/24"],
    ["10.0.2.5", "10.0.2.0/24"],
    ["10.0.3.5", undefined],
  ])("finds the subnet of %s: %s", (ip, subnet) => {
    const subnets = ["10.0.1.0/24", "10.0.2.0/24"].map((ip_range) => ({ ip_range, network_zone: "eu-central" }));
    const lb = aBalancer({ private_net: [{ network: NETWORK_ID, ip }] });
    expect(balancerState(lb, aNetwork({ subnets })).network?.subnet).toBe(subnet);
    expect(balancerState(lb, aNetwork({ id: 8, subnets })).network).not.toHaveProperty("subnet");
    expect(balancerState(lb).network).not.toHaveProperty("subnet");
  });

  it("reads the reverse DNS names of its addresses", () => {
    expect(balancerState(aBalancer({ rdns: { ipv4: "a.example.com" } })).rdns).toEqual({ ipv4: "a.example.com" });
    expect(balancerState(aBalancer({ rdns: { ipv6: "A.Example.com" } })).rdns).toEqual({ ipv6: "a.example.com" });
    expect(balancerState(aBalancer({ ipv4: null, rdns: { ipv4: "x" } }))).not.toHaveProperty("rdns");
  });

  it("leaves out absent addresses", () => {
    const state = balancerState(aBalancer({ ipv4: null, ipv6: null }));
    expect(state).not.toHaveProperty("ipv4");
    expect(state).not.toHaveProperty("ipv6");
    expect(state).not.toHaveProperty("network");
  });

  it("reads a TCP listener as it would be rendered, even when the API lists an http block", () => {
    const http = { cookie_name: "", cookie_lifetime: 0, sticky_sessions: false };
    expect(
      balancerState(aBalancer({ services: [aBalancerService(80), aBalancerService(81, { http })] })).listeners,
    ).toEqual([aListener(80), aListener(81)]);
  });

  it("fills in what the API leaves out of an http listener", () => {
    const service = aBalancerService(80, {
      protocol: "http",
      http: { cookie_name: "HCLBSTICKY", cookie_lifetime: 300, sticky_sessions: false },
      health_check: {
        protocol: "http",
        port: 30_080,
        interval: 15,
        timeout: 10,
        retries: 3,
        http: { domain: null, path: "/" },
      },
    });
    expect(balancerState(aBalancer({ services: [service] })).listeners).toEqual([
      aListener(80, {
        protocol: "http",
        http: {
          stickySessions: false,
          cookieName: "HCLBSTICKY",
          cookieLifetimeSeconds: 300,
          timeoutIdleSeconds: 50,
          redirectHttp: false,
          certificateIds: [],
        },
        healthCheck: {
          protocol: "http",
          port: 30_080,
          intervalSeconds: 15,
          timeoutSeconds: 10,
          retries: 3,
          http: { domain: "", path: "/", response: "", tls: false, statusCodes: [] },
        },
      }),
    ]);
  });

  it("HCCM T3: leaves label selectors alone, which are never ours", () => {
    const targets = [
      aServerTarget(1, true),
      { type: "ip", ip: { ip: "203.0.113.7" } },
      { type: "label_selector", label_selector: { selector: "a=b" } },
    ] as const;
    expect(balancerState(aBalancer({ targets })).targets).toEqual([
      { kind: "server", serverId: 1, usePrivateIp: true },
      { kind: "ip", ip: "203.0.113.7" },
    ]);
  });
});
