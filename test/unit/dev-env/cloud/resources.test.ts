import { describe, expect, test } from "vitest";
import { issueCertificate } from "../../../../dev-env/cloud/resources/self-signed.ts";
import { ManualClock } from "../../../../dev-env/cloud/state/clock.ts";
import { aBalancer, aCloud, call, type Json } from "./client.ts";

describe("networks", () => {
  test.each([
    ["a public range", { ip_range: "8.8.0.0/16" }, "invalid_input"],
    ["less than a /24", { ip_range: "10.0.0.0/25" }, "invalid_input"],
    ["host bits", { ip_range: "10.0.0.1/16" }, "invalid_input"],
    ["a taken name", { name: "network" }, "uniqueness_error"],
    ["a subnet outside", { subnets: [subnet("10.9.0.0/24")] }, "invalid_input"],
    ["overlapping subnets", { subnets: [subnet("10.0.0.0/17"), subnet("10.0.1.0/24")] }, "invalid_input"],
    ["a /31", { subnets: [subnet("10.0.0.0/31")] }, "invalid_input"],
    ["two zones", { subnets: [subnet("10.0.1.0/24"), subnet("10.0.2.0/24", "us-east")] }, "invalid_input"],
    ["a vswitch without id", { subnets: [{ ...subnet("10.0.1.0/24"), type: "vswitch" }] }, "invalid_input"],
  ])("%s is rejected", async (_case, fields, code) => {
    const cloud = await aCloud();
    cloud.addNetwork();
    const reply = await call(cloud, "POST /networks", { name: "new", ip_range: "10.0.0.0/16", ...fields });
    expect(reply.code).toBe(code);
    expect(cloud.state.networks.size).toBe(1);
  });

  test("a subnet without a range gets the first free /24", async () => {
    const cloud = await aCloud();
    const { id } = cloud.addNetwork({ subnet: "10.0.0.0/24" });
    await call(cloud, `POST /networks/${id}/actions/add_subnet`, { type: "cloud", network_zone: "eu-central" });
    expect(cloud.state.networks.get(id)?.subnets.map(({ ip_range }) => ip_range)).toEqual([
      "10.0.0.0/24",
      "10.0.1.0/24",
    ]);
  });

  test.each([
    ["the network's gateway", "10.100.0.0/24", "10.0.0.1"],
    ["the public gateway", "10.100.0.0/24", "172.31.1.1"],
    ["a destination around the public gateway", "172.31.0.0/16", "10.0.1.1"],
    ["a public destination", "8.8.8.0/24", "10.0.1.1"],
    ["a destination that is taken", "10.99.0.0/25", "10.0.1.1"],
  ])("a route with %s is rejected", async (_case, destination, gateway) => {
    const cloud = await aCloud();
    const { id } = cloud.addNetwork();
    const add = (route: object) => call(cloud, `POST /networks/${id}/actions/add_route`, route);
    expect((await add({ destination: "10.99.0.0/24", gateway: "10.0.1.1" })).status).toBe(201);
    expect((await add({ destination, gateway })).code).toBe("invalid_input");
  });

  test("a network has at most a hundred routes and a default route", async () => {
    const cloud = await aCloud();
    const { id } = cloud.addNetwork();
    const add = (destination: string) =>
      call(cloud, `POST /networks/${id}/actions/add_route`, { destination, gateway: "10.0.1.1" });
    expect((await add("0.0.0.0/0")).status).toBe(201);
    for (let n = 1; n < 100; n += 1) expect((await add(`10.200.${n}.0/24`)).status).toBe(201);
    const full = await add("10.201.0.0/24");
    expect([full.status, full.code]).toEqual([403, "resource_limit_exceeded"]);
  });

  test("a network has at most a hundred members", async () => {
    const cloud = await aCloud();
    const { id } = cloud.addNetwork();
    for (let n = 0; n < 100; n += 1) cloud.addServer({ name: `node-${n}`, network: id });
    expect(() => cloud.addServer({ name: "one-more", network: id })).toThrow(/limit/);
  });

  test("deleting a network detaches its members and removes private targets", async () => {
    const cloud = await aCloud();
    const { id } = cloud.addNetwork();
    const server = cloud.addServer({ name: "node-1", network: id });
    const target = { type: "server", server: { id: server.id }, use_private_ip: true };
    const lb = await aBalancer(cloud, { network: id, targets: [target] });
    expect((await call(cloud, `DELETE /networks/${id}`)).status).toBe(204);
    expect(cloud.state.servers.get(server.id)?.private_net).toEqual([]);
    expect(cloud.state.loadBalancers.get(lb.id)).toMatchObject({ private_net: [], targets: [] });
  });
});

describe("servers", () => {
  const wanted = { name: "node-1", server_type: "cx23", image: "ubuntu-24.04", location: "fsn1" };

  test.each([
    ["an unknown type", { server_type: "cx99" }, 404, "not_found"],
    ["an image of another architecture", { server_type: "cax11", image: 161547269 }, 404, "not_found"],
    ["an unknown network", { networks: [7] }, 404, "not_found"],
    ["a type that is not sold there", { location: "ash" }, 412, "resource_unavailable"],
    ["a taken name", { name: "taken" }, 409, "uniqueness_error"],
    ["a name that is no host name", { name: "under_score" }, 422, "invalid_input"],
    ["no network at all", { public_net: { enable_ipv4: false, enable_ipv6: false } }, 422, "invalid_input"],
    ["user data beyond 32 KiB", { user_data: "x".repeat(32_769) }, 422, "invalid_input"],
  ])("with %s are rejected", async (_case, fields, status, code) => {
    const cloud = await aCloud();
    cloud.addServer({ name: "taken" });
    const reply = await call(cloud, "POST /servers", { ...wanted, ...fields });
    expect([reply.status, reply.code]).toEqual([status, code]);
  });

  test.each(["10.0.0.5/8", "2001:db8::1/32"])(
    "a firewall rule for %s, which has host bits, is rejected",
    async (range) => {
      const cloud = await aCloud();
      const rules = [{ direction: "in", protocol: "icmp", source_ips: [range] }];
      const reply = await call(cloud, "POST /firewalls", { name: "wall", rules });
      expect([reply.status, reply.code]).toEqual([422, "invalid_input"]);
    },
  );

  test("a deleted server is removed from targets, firewalls and groups, and frees its primary IPs", async () => {
    const cloud = await aCloud();
    const { primary_ip } = (await call(cloud, "POST /primary_ips", { name: "kept", type: "ipv4", location: "fsn1" }))
      .body;
    const { firewall } = (await call(cloud, "POST /firewalls", { name: "wall" })).body;
    const { placement_group } = (await call(cloud, "POST /placement_groups", { name: "g", type: "spread" })).body;
    const body = {
      ...wanted,
      firewalls: [{ firewall: firewall.id }],
      placement_group: placement_group.id,
      public_net: { ipv4: primary_ip.id },
    };
    const { server } = (await call(cloud, "POST /servers", body)).body;
    const lb = await aBalancer(cloud, { targets: [{ type: "server", server: { id: server.id } }] });
    expect(cloud.state.servers.get(server.id)?.load_balancers).toEqual([lb.id]);
    await call(cloud, `DELETE /servers/${server.id}`);
    expect(cloud.state.loadBalancers.get(lb.id)?.targets).toEqual([]);
    expect(cloud.state.firewalls.get(firewall.id)?.applied_to).toEqual([]);
    expect(cloud.state.placementGroups.get(placement_group.id)?.servers).toEqual([]);
    expect(cloud.state.primaryIps.values()).toMatchObject([{ name: "kept", assignee_type: "unassigned" }]);
  });
});

describe("certificates", () => {
  const managed = (domain: string) => ({ name: domain, type: "managed", domain_names: [domain] });

  test("are issued after a while, fail for the failing domain, and can be retried", async () => {
    const clock = new ManualClock();
    const cloud = await aCloud({ clock, actionMs: 1000 });
    const good = (await call(cloud, "POST /certificates", managed("www.example.com"))).body.certificate;
    const bad = (await call(cloud, "POST /certificates", managed("www.fail.example"))).body;
    expect(good).toMatchObject({ certificate: null, fingerprint: null, status: { issuance: "pending" } });
    clock.advance(1000);
    expect(cloud.state.certificates.get(good.id)).toMatchObject({
      domain_names: ["www.example.com"],
      not_valid_before: "2026-11-01T00:00:01Z",
      status: { issuance: "completed", renewal: "scheduled", error: null },
    });
    expect(cloud.state.actions.get(bad.action.id)).toMatchObject({
      status: "error",
      error: { code: "dns_zone_not_found" },
    });
    expect(cloud.state.certificates.get(bad.certificate.id)?.status).toMatchObject({ issuance: "failed" });
    expect((await call(cloud, `POST /certificates/${good.id}/actions/retry`)).code).toBe("unsupported_error");
    expect((await call(cloud, `POST /certificates/${bad.certificate.id}/actions/retry`)).body.action).toMatchObject({
      command: "issue_certificate",
      status: "running",
    });
  });

  test("are rejected if the key does not match, and otherwise uploaded with names and dates", async () => {
    const cloud = await aCloud();
    const [one, two] = [1, 2].map((serial) =>
      issueCertificate({ domainNames: ["a.example.com", "b.example.com"], serial, notBefore: 0, notAfter: 4e12 }),
    );
    const upload = (certificate = "", private_key = "") => ({ name: "up", certificate, private_key });
    const wrong = await call(cloud, "POST /certificates", upload(one?.certificate, two?.privateKey));
    expect(wrong.body.error.details.fields).toMatchObject([{ name: "private_key" }]);
    expect((await call(cloud, "POST /certificates", upload("nonsense", "x"))).code).toBe("invalid_input");
    const { body } = await call(cloud, "POST /certificates", upload(one?.certificate, one?.privateKey));
    expect(body.certificate).toMatchObject({ domain_names: ["a.example.com", "b.example.com"], status: null });
    expect(body.certificate).not.toHaveProperty("private_key");
    expect(body.action).toBeNull();
  });

  test("in use cannot be deleted, and at most twenty managed ones are created per hour", async () => {
    const cloud = await aCloud();
    const { certificate } = (await call(cloud, "POST /certificates", managed("www.example.com"))).body;
    const service = { protocol: "https", http: { certificates: [certificate.id] } };
    const lb = await aBalancer(cloud, { services: [service] });
    expect(cloud.state.certificates.get(certificate.id)?.used_by).toEqual([{ id: lb.id, type: "load_balancer" }]);
    expect((await call(cloud, `DELETE /certificates/${certificate.id}`)).message).toBe("certificate still in use");
    for (let n = 1; n < 20; n += 1) await call(cloud, "POST /certificates", managed(`n${n}.example.com`));
    expect((await call(cloud, "POST /certificates", managed("more.example.com"))).code).toBe("resource_limit_exceeded");
  });
});

function subnet(ip_range: string, network_zone = "eu-central"): Json {
  return { type: "cloud", network_zone, ip_range };
}
