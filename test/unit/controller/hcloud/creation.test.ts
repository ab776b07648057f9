import { describe, expect, it } from "vitest";
import type { LoadBalancer } from "../../../../controller/hcloud/api.ts";
import { createWhole, isRefused, remainder } from "../../../../controller/hcloud/creation.ts";
import { balancerState } from "../../../../controller/render/service/load-balancer-state.ts";
import { differences } from "../../../../stacks/units/difference.ts";
import type { ListenerSpec, LoadBalancerSpec, TargetSpec } from "../../../../stacks/units/spec.ts";
import { aBalancer, aBalancerSpec, aListener } from "../../../support/builders.ts";

const REQUEST = { method: "POST", path: "/load_balancers", body: '{"name":"balancer","location":"fsn1"}' };
const NETWORK = { networkId: 7, publicInterface: false };
const PRIVATE: TargetSpec = { kind: "server", serverId: 5, usePrivateIp: true };
const PUBLIC: TargetSpec = { kind: "server", serverId: 6, usePrivateIp: false };
const IP: TargetSpec = { kind: "ip", ip: "203.0.113.1" };

const HTTP = {
  stickySessions: true,
  cookieName: "HCLBSTICKY",
  cookieLifetimeSeconds: 300,
  timeoutIdleSeconds: 50,
  redirectHttp: true,
  certificateIds: [3, 4],
};
const { healthCheck } = aListener(443);
const HTTPS: ListenerSpec = aListener(443, {
  protocol: "https",
  http: HTTP,
  healthCheck: {
    ...healthCheck,
    protocol: "http",
    http: { domain: "example.org", path: "/", response: "ok", tls: true, statusCodes: ["200"] },
  },
});

const sent = (spec: Partial<LoadBalancerSpec>) =>
  JSON.parse(createWhole(REQUEST, aBalancerSpec(spec)).body ?? "") as Record<string, unknown>;

describe("a request to create a load balancer", () => {
  it("keeps the provider's fields, and adds network, listeners and targets", () => {
    expect(sent({ network: NETWORK, listeners: [aListener(80)], targets: [PRIVATE, IP] })).toEqual({
      name: "balancer",
      location: "fsn1",
      network: 7,
      public_interface: false,
      services: [
        {
          protocol: "tcp",
          listen_port: 80,
          destination_port: 30_080,
          proxyprotocol: false,
          health_check: { protocol: "tcp", port: 30_080, interval: 15, timeout: 10, retries: 3 },
        },
      ],
      targets: [
        { type: "server", server: { id: 5 }, use_private_ip: true },
        { type: "ip", ip: { ip: "203.0.113.1" } },
      ],
    });
  });

  it("creates a load balancer that matches its spec", () => {
    const spec = aBalancerSpec({
      network: NETWORK,
      listeners: [
        aListener(80, { protocol: "http", http: { ...HTTP, redirectHttp: false, certificateIds: [] } }),
        HTTPS,
      ],
      targets: [PRIVATE, IP],
    });
    const { services, targets } = sent(spec) as unknown as Pick<LoadBalancer, "services" | "targets">;
    const { labels } = spec;
    const private_net = [{ network: 7, ip: "10.0.0.2" }];
    const made = aBalancer({ isPublic: false, labels, private_net, services, targets });
    expect(differences(spec, balancerState(made))).toEqual([]);
  });

  it.each<[string, Partial<LoadBalancerSpec>, Record<string, unknown>]>([
    ["nothing when there is nothing to add", {}, {}],
    [
      "no network when a certain private address is wanted, nor the targets that need it",
      { network: { ...NETWORK, publicInterface: true, ip: "10.0.0.9" }, targets: [PRIVATE, PUBLIC] },
      { public_interface: true, targets: [{ type: "server", server: { id: 6 }, use_private_ip: false }] },
    ],
    [
      "no network when a certain subnet is wanted, and until then nothing public if it is to be private",
      { network: { ...NETWORK, subnet: "10.0.0.0/24" }, targets: [PRIVATE, { kind: "ip", ip: "10.0.9.5" }] },
      { public_interface: false },
    ],
    [
      "no listener whose certificate is still to be made",
      { listeners: [{ ...HTTPS, http: { ...HTTP, certificateIds: [] } }] },
      {},
    ],
  ])("adds %s", (_, spec, added) => {
    expect(sent(spec)).toEqual({ name: "balancer", location: "fsn1", ...added });
  });
});

it.each([
  [201, false],
  [401, false],
  [403, true],
  [404, true],
  [409, false],
  [412, true],
  [422, true],
  [500, false],
  [504, false],
])("status %d: refused for what was added is %s", (status, expected) => {
  expect(isRefused(status)).toBe(expected);
});

describe("of a request for an existing load balancer", () => {
  const service = (given: object = {}) => ({
    protocol: "http" as const,
    listen_port: 80,
    destination_port: 30_080,
    proxyprotocol: false,
    http: { cookie_name: "HCLBSTICKY", cookie_lifetime: 300, sticky_sessions: false, certificates: [3, 4] },
    health_check: { protocol: "tcp" as const, port: 30_080, interval: 15, timeout: 10, retries: 3 },
    ...given,
  });
  const lb = aBalancer({
    private_net: [{ network: 7, ip: "10.0.0.2" }],
    services: [service()],
    targets: [{ type: "server", server: { id: 5 }, use_private_ip: true }],
  });
  const ask = (action: string, body: object) => ({
    method: "POST",
    path: `/load_balancers/42/actions/${action}`,
    body: JSON.stringify(body),
  });

  it.each([
    ["attach_to_network", { network: 7 }],
    ["attach_to_network", { network: 7, ip: "10.0.0.2" }],
    ["add_target", { type: "server", server: { id: 5 }, use_private_ip: true }],
    ["add_service", { protocol: "http", listen_port: 80, destination_port: 30_080 }],
    ["add_service", service({ http: { certificates: [4, 3], redirect_http: false, cookie_name: "HCLBSTICKY" } })],
  ])("nothing is left when it is already done: %s %j", (action, body) => {
    expect(remainder(ask(action, body), lb)).toBeUndefined();
  });

  it.each([
    ["attach_to_network", { network: 8 }],
    ["attach_to_network", { network: 7, ip: "10.0.0.3" }],
    ["add_target", { type: "server", server: { id: 6 }, use_private_ip: true }],
    ["add_target", { type: "server", server: { id: 5 }, use_private_ip: false }],
    ["add_service", { protocol: "tcp", listen_port: 81, destination_port: 30_081 }],
    ["remove_target", { type: "server", server: { id: 5 } }],
    ["delete_service", { listen_port: 80 }],
    ["change_protection", { delete: true }],
    ["disable_public_interface", {}],
  ])("everything is left when it is not: %s %j", (action, body) => {
    expect(remainder(ask(action, body), lb)).toEqual(ask(action, body));
  });

  it.each([
    { destination_port: 1 },
    { proxyprotocol: true },
    { http: { certificates: [3] } },
    { health_check: { port: 1 } },
  ])("a differing listener is updated, because it cannot be added twice: %j", (given) => {
    const body = service(given);
    expect(remainder(ask("add_service", body), lb)).toEqual(ask("update_service", body));
  });
});
