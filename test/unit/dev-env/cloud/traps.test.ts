import { describe, expect, test } from "vitest";
import { aBalancer, aCloud, call } from "./client.ts";

const tcp = (listen_port: number) => ({ protocol: "tcp", listen_port, destination_port: 30000 + listen_port });

describe("fidelity traps", () => {
  test("trap 1: DELETE returns 201 with an action for load balancers, 200 with an action for servers, 204 for others", async () => {
    const cloud = await aCloud();
    const lb = await aBalancer(cloud);
    const server = cloud.addServer({ name: "node-1" });
    const network = cloud.addNetwork();
    const deleted = await call(cloud, `DELETE /load_balancers/${lb.id}`);
    expect(deleted.status).toBe(201);
    expect(deleted.body.action).toMatchObject({ command: "delete_load_balancer", status: "success", error: null });
    const gone = await call(cloud, `DELETE /servers/${server.id}`);
    expect(gone.status).toBe(200);
    expect(gone.body.action.command).toBe("delete_server");
    const rest = await call(cloud, `DELETE /networks/${network.id}`);
    expect([rest.status, rest.body]).toEqual([204, undefined]);
  });

  test("trap 2: details are always present on invalid_input", async () => {
    const cloud = await aCloud();
    const lb = await aBalancer(cloud);
    const replies = [
      await call(cloud, "POST /load_balancers", {}),
      await call(cloud, `POST /load_balancers/${lb.id}/actions/add_target`, { type: "server" }),
      await call(cloud, "GET /servers?label_selector=a%3D%3D%3D"),
      await call(cloud, "POST /networks", []),
    ];
    for (const reply of replies) {
      expect([reply.status, reply.code]).toEqual([422, "invalid_input"]);
      expect(reply.body.error.details.fields).toBeInstanceOf(Array);
    }
  });

  test("trap 3: a 404 has the JSON envelope with code not_found", async () => {
    const cloud = await aCloud();
    for (const line of ["GET /servers/1", "GET /nothing", "GET /servers/99999999999999999999", "DELETE /networks/1"]) {
      const reply = await call(cloud, line);
      expect([reply.status, reply.code]).toEqual([404, "not_found"]);
      expect(reply.headers.get("content-type")).toMatch(/^application\/json/);
      expect(reply.body.error).toHaveProperty("details", null);
    }
  });

  test("trap 4: source_port_already_used is 412 on add and create and 422 on update", async () => {
    const cloud = await aCloud();
    const created = { name: "x", load_balancer_type: "lb11", location: "fsn1", services: [tcp(80), tcp(80)] };
    const create = await call(cloud, "POST /load_balancers", created);
    expect([create.status, create.code]).toEqual([412, "source_port_already_used"]);
    const { certificate } = (await call(cloud, "POST /certificates", managed("site.example.com"))).body;
    const https = { protocol: "https", listen_port: 443, http: { certificates: [certificate.id] } };
    const lb = await aBalancer(cloud, { services: [tcp(80), https] });
    const add = await call(cloud, `POST /load_balancers/${lb.id}/actions/add_service`, tcp(80));
    expect([add.status, add.code]).toEqual([412, "source_port_already_used"]);
    const redirect = { listen_port: 443, http: { redirect_http: true } };
    const update = await call(cloud, `POST /load_balancers/${lb.id}/actions/update_service`, redirect);
    expect([update.status, update.code]).toEqual([422, "source_port_already_used"]);
  });

  test("trap 5: concurrent writes to load balancers and networks are 409 conflict, a busy server is 423 locked", async () => {
    const cloud = await aCloud({ actionMs: 60_000 });
    cloud.faults.add({ path: "/**/actions/add_*", effect: { kind: "latency", ms: 100 } });
    const lb = await aBalancer(cloud);
    const network = cloud.addNetwork();
    const server = cloud.addServer({ name: "node-1" });
    const add = (port: number) => call(cloud, `POST /load_balancers/${lb.id}/actions/add_service`, tcp(port));
    const balancerRace = await Promise.all([add(1), add(2)]);
    expect(balancerRace.map((reply) => reply.code ?? reply.status).sort()).toEqual([201, "conflict"]);
    const route = (n: number) =>
      call(cloud, `POST /networks/${network.id}/actions/add_route`, {
        destination: `10.${n}.0.0/24`,
        gateway: "10.0.1.9",
      });
    const networkRace = await Promise.all([route(100), route(101)]);
    expect(networkRace.map((reply) => reply.status).sort()).toEqual([201, 409]);
    await call(cloud, `POST /servers/${server.id}/actions/poweroff`);
    const second = await call(cloud, `DELETE /servers/${server.id}`);
    expect([second.status, second.code]).toEqual([423, "locked"]);
    expect(cloud.state.servers.get(server.id)?.locked).toBe(true);
  });

  test("trap 6: there is no datacenter on servers, and /datacenters is 410", async () => {
    const cloud = await aCloud();
    const server = cloud.addServer({ name: "node-1" });
    expect(server).not.toHaveProperty("datacenter");
    for (const line of ["GET /datacenters", "GET /datacenters/4"]) {
      const reply = await call(cloud, line);
      expect([reply.status, reply.code]).toEqual([410, "deprecated_api_endpoint"]);
    }
  });

  test("trap 7: private addresses start at .1 unless that is the network gateway, the network's first address", async () => {
    const cloud = await aCloud();
    const wide = cloud.addNetwork({ name: "wide", ipRange: "10.0.0.0/16", subnet: "10.0.1.0/24" });
    const same = cloud.addNetwork({ name: "same", ipRange: "10.50.0.0/24", subnet: "10.50.0.0/26" });
    expect(wide.subnets[0]?.gateway).toBe("10.0.0.1");
    expect(same.subnets[0]?.gateway).toBe("10.50.0.1");
    expect(cloud.addServer({ name: "a", network: wide.id }).private_net[0]?.ip).toBe("10.0.1.1");
    expect(cloud.addServer({ name: "b", network: same.id }).private_net[0]?.ip).toBe("10.50.0.2");
  });

  test("trap 8: a route may lead outside the network, but its gateway must be inside, and it must not cover subnets", async () => {
    const cloud = await aCloud();
    const network = cloud.addNetwork();
    const add = (destination: string, gateway: string) =>
      call(cloud, `POST /networks/${network.id}/actions/add_route`, { destination, gateway });
    expect((await add("10.100.1.0/24", "10.0.1.1")).status).toBe(201);
    const outside = await add("10.100.2.0/24", "10.9.0.1");
    expect([outside.code, outside.message]).toEqual(["invalid_input", "invalid gateway"]);
    const covering = await add("10.0.0.0/17", "10.0.1.1");
    expect(covering.message).toBe("network route destination overlaps with another subnetwork or network route");
  });

  test("trap 9: the IPv6 of a load balancer is an address, that of a server a /64", async () => {
    const cloud = await aCloud();
    const lb = await aBalancer(cloud);
    expect(lb.public_net.ipv6.ip).toMatch(/^2001:db8:[0-9a-f:]+::1$/);
    expect(cloud.addServer({ name: "node-1" }).public_net.ipv6?.ip).toMatch(/^2001:db8:[0-9a-f:]+::\/64$/);
  });

  test("trap 10: a load balancer has one network; private targets require it, public targets the public interface", async () => {
    const cloud = await aCloud();
    const network = cloud.addNetwork();
    const other = cloud.addNetwork({ name: "other", ipRange: "10.1.0.0/16" });
    const server = cloud.addServer({ name: "node-1", network: network.id });
    const lb = await aBalancer(cloud);
    const act = (name: string, body?: unknown) => call(cloud, `POST /load_balancers/${lb.id}/actions/${name}`, body);
    const privately = { type: "server", server: { id: server.id }, use_private_ip: true };
    expect((await act("add_target", privately)).code).toBe("load_balancer_not_attached_to_network");
    expect((await act("disable_public_interface")).code).toBe("load_balancer_not_attached_to_network");
    expect((await act("attach_to_network", { network: network.id })).status).toBe(201);
    expect((await act("attach_to_network", { network: other.id })).code).toBe("load_balancer_already_attached");
    expect((await act("add_target", { type: "server", server: { id: server.id } })).status).toBe(201);
    expect((await act("disable_public_interface")).code).toBe("targets_without_use_private_ip");
    await act("remove_target", { type: "server", server: { id: server.id } });
    expect((await act("add_target", privately)).status).toBe(201);
    expect((await act("disable_public_interface")).status).toBe(201);
  });

  test("trap 11: a subnet with members cannot be deleted, with the phrase that the provider matches", async () => {
    const cloud = await aCloud();
    const network = cloud.addNetwork();
    cloud.addServer({ name: "node-1", network: network.id });
    const reply = await call(cloud, `POST /networks/${network.id}/actions/delete_subnet`, { ip_range: "10.0.1.0/24" });
    expect([reply.status, reply.code]).toEqual([422, "service_error"]);
    expect(reply.message).toContain("servers are attached");
  });

  test("trap 12: removing an unknown target is target not found", async () => {
    const cloud = await aCloud();
    const lb = await aBalancer(cloud);
    const target = { type: "label_selector", label_selector: { selector: "a=b" } };
    const reply = await call(cloud, `POST /load_balancers/${lb.id}/actions/remove_target`, target);
    expect(reply.code).toBe("load_balancer_target_not_found");
    expect(reply.message).toContain("target not found");
  });

  test("trap 13: actions outlive their resources", async () => {
    const cloud = await aCloud();
    const lb = await aBalancer(cloud);
    const { action } = (await call(cloud, `DELETE /load_balancers/${lb.id}`)).body;
    const reply = await call(cloud, `GET /actions?id=${action.id}&page=1&sort=status&sort=id`);
    expect(reply.body.actions).toMatchObject([{ id: action.id, status: "success", resources: [{ id: lb.id }] }]);
  });

  test("trap 14: a selector target contains resolved targets with their health, and has none itself", async () => {
    const cloud = await aCloud();
    cloud.addServer({ name: "node-1", labels: { role: "web" } });
    cloud.addServer({ name: "node-2", labels: { role: "web" }, publicIpv4: false });
    const target = { type: "label_selector", label_selector: { selector: "role=web" } };
    const lb = await aBalancer(cloud, { services: [tcp(80)], targets: [target] });
    expect(lb.targets).toHaveLength(1);
    expect(lb.targets[0]).not.toHaveProperty("health_status");
    expect(lb.targets[0].targets).toMatchObject([{ health_status: [{ listen_port: 80, status: "healthy" }] }]);
  });

  test("trap 15: the rate limit is per project, shared by all callers, and includes polls", async () => {
    const cloud = await aCloud({ rateLimit: { perHour: 3600 } });
    const first = await call(cloud, "GET /locations");
    expect(first.headers.get("ratelimit-limit")).toBe("3600");
    expect(first.headers.get("ratelimit-remaining")).toBe("3599");
    const other = { authorization: `Bearer ${"y".repeat(64)}` };
    expect((await call(cloud, "GET /actions?id=1", undefined, other)).headers.get("ratelimit-remaining")).toBe("3598");
    const small = await aCloud({ rateLimit: { perHour: 2 } });
    await call(small, "GET /locations");
    await call(small, "GET /locations");
    const third = await call(small, "GET /locations");
    expect([third.status, third.code]).toEqual([429, "rate_limit_exceeded"]);
  });

  test("trap 16: a network has no create action and an uploaded certificate a null one", async () => {
    const cloud = await aCloud();
    const network = await call(cloud, "POST /networks", { name: "n", ip_range: "10.0.0.0/16" });
    expect(Object.keys(network.body)).toEqual(["network"]);
    const group = await call(cloud, "POST /placement_groups", { name: "g", type: "spread" });
    expect(group.body.action).toBeNull();
  });

  test("trap 17: PUT never returns an action", async () => {
    const cloud = await aCloud();
    const lb = await aBalancer(cloud);
    const reply = await call(cloud, `PUT /load_balancers/${lb.id}`, { name: "renamed", labels: { a: "b" } });
    expect([reply.status, Object.keys(reply.body)]).toEqual([200, ["load_balancer"]]);
  });

  test("trap 18: error codes have their names of 2026", async () => {
    const readOnlyToken = "r".repeat(64);
    const headers = { authorization: `Bearer ${readOnlyToken}` };
    const network = { name: "n", ip_range: "10.0.0.0/16" };
    const cloud = await aCloud({ readOnlyToken });
    const refused = await call(cloud, "POST /networks", network, headers);
    expect([refused.status, refused.code]).toEqual([403, "forbidden"]);
    const lb = await aBalancer(cloud);
    const empty = cloud.addNetwork({ subnet: null });
    const attach = await call(cloud, `POST /load_balancers/${lb.id}/actions/attach_to_network`, { network: empty.id });
    expect(attach.code).toBe("no_subnet_available");
  });
});

function managed(domain: string) {
  return { name: domain, type: "managed", domain_names: [domain] };
}
