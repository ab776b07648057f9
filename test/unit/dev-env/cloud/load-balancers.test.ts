import { describe, expect, test } from "vitest";
import { aBalancer, aCloud, call, type Json } from "./client.ts";

const tcp = (listen_port: number) => ({ protocol: "tcp", listen_port, destination_port: 30_000 });

async function act(cloud: Json, lb: Json, name: string, body?: unknown) {
  return call(cloud, `POST /load_balancers/${lb.id}/actions/${name}`, body);
}

describe("listeners", () => {
  test("get the documented defaults", async () => {
    const lb = await aBalancer(await aCloud(), { services: [tcp(22), { protocol: "http" }] });
    expect(lb.services).toEqual([
      {
        protocol: "tcp",
        listen_port: 22,
        destination_port: 30_000,
        proxyprotocol: false,
        health_check: { protocol: "tcp", port: 30_000, interval: 15, timeout: 10, retries: 3 },
      },
      {
        protocol: "http",
        listen_port: 80,
        destination_port: 80,
        proxyprotocol: false,
        health_check: {
          protocol: "http",
          port: 80,
          interval: 15,
          timeout: 10,
          retries: 3,
          http: { domain: null, path: "/", response: "", status_codes: ["2??", "3??"], tls: false },
        },
        http: { cookie_name: "HCLBSTICKY", cookie_lifetime: 300, timeout_idle: 50, sticky_sessions: false },
      },
    ]);
  });

  test("change only the given fields", async () => {
    const cloud = await aCloud();
    const lb = await aBalancer(cloud, { services: [tcp(80)] });
    await act(cloud, lb, "update_service", { listen_port: 80, health_check: { retries: 5 } });
    await act(cloud, lb, "update_service", { listen_port: 80, protocol: "http", proxyprotocol: true });
    expect(cloud.state.loadBalancers.get(lb.id)?.services[0]).toMatchObject({
      protocol: "http",
      destination_port: 30_000,
      proxyprotocol: true,
      health_check: { protocol: "tcp", retries: 5, interval: 15 },
      http: { cookie_name: "HCLBSTICKY" },
    });
  });

  test("keep the domain of a health check if it is absent, and remove it if it is null", async () => {
    const cloud = await aCloud();
    const http = (fields: object) => ({ health_check: { protocol: "http", http: fields } });
    const lb = await aBalancer(cloud, {
      services: [{ ...tcp(80), ...http({ domain: "a.example.com", path: "/old" }) }],
    });
    const checkOf = () => cloud.state.loadBalancers.get(lb.id)?.services[0]?.health_check.http;
    await act(cloud, lb, "update_service", { listen_port: 80, ...http({ path: "/new" }) });
    expect(checkOf()).toMatchObject({ domain: "a.example.com", path: "/new" });
    await act(cloud, lb, "update_service", { listen_port: 80, ...http({ domain: null }) });
    expect(checkOf()).toMatchObject({ domain: null, path: "/new" });
  });

  test.each([
    ["tcp without ports", { protocol: "tcp" }, "listen_port"],
    ["no protocol", { listen_port: 1 }, "protocol"],
    ["zero retries", { ...tcp(1), health_check: { retries: 0 } }, "health_check.retries"],
    ["an interval of 2 s", { ...tcp(1), health_check: { interval: 2 } }, "health_check.interval"],
    ["a check over https", { ...tcp(1), health_check: { protocol: "https" } }, "health_check.protocol"],
    ["an unknown check field", { ...tcp(1), health_check: { colour: 1 } }, "health_check.colour"],
    ["a cookie without name", { protocol: "http", http: { cookie_name: "" } }, "http.cookie_name"],
    ["a redirect on http", { protocol: "http", http: { redirect_http: true } }, "http.redirect_http"],
    ["https without certificate", { protocol: "https" }, "http.certificates"],
  ])("%s is invalid input", async (_case, service, field) => {
    const cloud = await aCloud();
    const reply = await act(cloud, await aBalancer(cloud), "add_service", service);
    expect(reply.code).toBe("invalid_input");
    expect(reply.body.error.details.fields[0].name).toBe(field);
  });

  test("a range error has the text of the real API", async () => {
    const cloud = await aCloud();
    const reply = await act(cloud, await aBalancer(cloud), "add_service", { ...tcp(1), health_check: { retries: 9 } });
    expect(reply.message).toBe("invalid input in field 'health_check'");
    expect(reply.body.error.details.fields[0].messages).toEqual(["Must be between 1 and 5."]);
  });

  test("a redirect uses port 80", async () => {
    const cloud = await aCloud();
    const managed = { name: "c", type: "managed", domain_names: ["a.example.com"] };
    const { certificate } = (await call(cloud, "POST /certificates", managed)).body;
    const https = { protocol: "https", http: { certificates: [certificate.id], redirect_http: true } };
    const lb = await aBalancer(cloud, { services: [https] });
    const reply = await act(cloud, lb, "add_service", tcp(80));
    expect([reply.status, reply.message]).toEqual([
      412,
      "port 80 is busy, redirect_http is enabled on another service",
    ]);
  });

  test("an unknown port is not found, with the text of the real API", async () => {
    const cloud = await aCloud();
    const lb = await aBalancer(cloud);
    const reply = await act(cloud, lb, "delete_service", { listen_port: 80 });
    expect([reply.status, reply.message]).toEqual([
      404,
      `service with listen port 80 for load balancer with ID ${lb.id} not found`,
    ]);
  });

  test("the type limits their number, also when it is changed", async () => {
    const cloud = await aCloud();
    const lb = await aBalancer(cloud, { load_balancer_type: "lb21", services: [1, 2, 3, 4, 5, 6].map(tcp) });
    expect((await act(cloud, lb, "change_type", { load_balancer_type: "lb11" })).code).toBe(
      "invalid_load_balancer_type",
    );
    const small = await aBalancer(cloud, { services: [1, 2, 3, 4, 5].map(tcp) });
    const reply = await act(cloud, small, "add_service", tcp(6));
    expect([reply.status, reply.code]).toEqual([403, "resource_limit_exceeded"]);
  });
});

describe("targets", () => {
  test("are checked in the order of the API reference", async () => {
    const cloud = await aCloud();
    const network = cloud.addNetwork();
    const inside = cloud.addServer({ name: "inside", network: network.id, publicIpv4: false });
    const outside = cloud.addServer({ name: "outside" });
    const lb = await aBalancer(cloud);
    const server = (id: number, extra: object = {}) => ({ type: "server", server: { id, ...extra } });
    const add = async (target: object) => (await act(cloud, lb, "add_target", target)).code;
    expect(await add({ ...server(inside.id), use_private_ip: true })).toBe("load_balancer_not_attached_to_network");
    await act(cloud, lb, "attach_to_network", { network: network.id });
    expect(await add({ ...server(outside.id), use_private_ip: true })).toBe("resolve_cloud_private_targets_error");
    expect(await add(server(inside.id))).toBe("resolve_cloud_public_targets_error");
    expect(await add(server(outside.id, { ip: "203.0.113.1" }))).toBe("ip_not_assigned_to_server");
    expect(await add(server(7))).toBe("not_found");
    expect(await add(server(outside.id))).toBeUndefined();
    expect(await add(server(outside.id))).toBe("target_already_defined");
    expect(await add({ type: "ip", ip: { ip: outside.public_net.ipv4?.ip } })).toBe("cloud_resource_ip_not_allowed");
    expect(await add({ type: "ip", ip: { ip: "10.0.1.9" } })).toBe("network_has_no_vswitch_subnet");
    expect(await add({ type: "server", ip: { ip: "203.0.113.1" } })).toBe("invalid_input");
    expect(await add({ type: "label_selector", label_selector: { selector: "a b" } })).toBe("invalid_input");
  });

  test("by IPv6 require an address in the server's network", async () => {
    const cloud = await aCloud();
    const { id, public_net } = cloud.addServer({ name: "node-1", publicIpv4: false });
    const ip = public_net.ipv6?.ip.replace("/64", "5");
    const lb = await aBalancer(cloud, { targets: [{ type: "server", server: { id, ip } }] });
    expect(lb.targets[0].server).toEqual({ id, ip });
  });

  test("require the public interface unless they are private", async () => {
    const cloud = await aCloud();
    const network = cloud.addNetwork();
    const lb = await aBalancer(cloud, { network: network.id, public_interface: false });
    const reply = await act(cloud, lb, "add_target", { type: "ip", ip: { ip: "203.0.113.1" } });
    expect(reply.code).toBe("load_balancer_public_interface_disabled");
  });

  test("a vSwitch address is accepted inside the vSwitch subnet only", async () => {
    const cloud = await aCloud();
    const network = cloud.addNetwork();
    const vswitch = { type: "vswitch", network_zone: "eu-central", ip_range: "10.0.9.0/24", vswitch_id: 1 };
    await call(cloud, `POST /networks/${network.id}/actions/add_subnet`, vswitch);
    const lb = await aBalancer(cloud, { network: network.id });
    const add = (ip: string) => act(cloud, lb, "add_target", { type: "ip", ip: { ip } });
    expect((await add("10.0.8.5")).code).toBe("ip_not_in_vswitch_subnet");
    expect((await add("10.0.9.5")).status).toBe(201);
  });

  test("report the health that a test sets", async () => {
    const cloud = await aCloud();
    const { id } = cloud.addServer({ name: "node-1" });
    const lb = await aBalancer(cloud, { services: [tcp(80)], targets: [{ type: "server", server: { id } }] });
    cloud.setHealth(id, { status: "unhealthy", detail: "layer4_timeout" });
    const { load_balancer } = (await call(cloud, `GET /load_balancers/${lb.id}`)).body;
    expect(load_balancer.targets[0].health_status).toEqual([
      { listen_port: 80, status: "unhealthy", detail: "layer4_timeout" },
    ]);
  });
});

describe("creation", () => {
  test.each([
    ["neither location nor zone", { location: undefined }, "invalid_input"],
    ["both", { network_zone: "eu-central" }, "invalid_input"],
    ["an unknown type", { load_balancer_type: "lb99" }, "not_found"],
    ["an unknown network", { network: 7 }, "not_found"],
    ["a taken name", { name: "taken" }, "uniqueness_error"],
  ])("with %s is rejected and changes nothing", async (_case, fields, code) => {
    const cloud = await aCloud();
    await aBalancer(cloud, { name: "taken" });
    const request = { name: "new", load_balancer_type: "lb11", location: "fsn1", ...fields };
    expect((await call(cloud, "POST /load_balancers", request)).code).toBe(code);
    expect(cloud.state.loadBalancers.size).toBe(1);
  });

  test("without any interface is possible: HCCM attaches a private one to its network later", async () => {
    const cloud = await aCloud();
    const lb = await aBalancer(cloud, { public_interface: false });
    expect(lb).toMatchObject({ public_net: { enabled: false }, private_net: [] });
  });

  test("with a primary IP uses it, and frees it when deleted", async () => {
    const cloud = await aCloud();
    const { primary_ip } = (await call(cloud, "POST /primary_ips", { name: "p", type: "ipv4", location: "fsn1" })).body;
    const lb = await aBalancer(cloud, { public_net: { ipv4: primary_ip.id } });
    expect(lb.public_net.ipv4).toMatchObject({ id: primary_ip.id, ip: primary_ip.ip });
    const assigned = { assignee_type: "load_balancer", assignee_id: lb.id };
    expect(cloud.state.primaryIps.get(primary_ip.id)).toMatchObject(assigned);
    const again = { name: "x", load_balancer_type: "lb11", location: "fsn1", public_net: { ipv4: primary_ip.id } };
    expect((await call(cloud, "POST /load_balancers", again)).code).toBe("primary_ip_assigned");
    await call(cloud, `DELETE /load_balancers/${lb.id}`);
    expect(cloud.state.primaryIps.get(primary_ip.id)).toMatchObject({ assignee_type: "unassigned" });
  });
});
