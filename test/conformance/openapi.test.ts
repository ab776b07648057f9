/** The simulated cloud against the official API description. */
import { describe, expect, test } from "vitest";
import { issueCertificate } from "../../dev-env/cloud/resources/self-signed.ts";
import { routes } from "../../dev-env/cloud/routes.ts";
import { aCloud, call, inspectAnswers, type Json } from "../unit/dev-env/cloud/client.ts";
import { hasOpenApi, violationOf } from "./openapi.ts";

const KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIJ7dEwV6AcEkk9GJvFUGlBzJWiHkZuJLn9VnqvVwpuVJ me@example";

inspectAnswers((method, path, status, body) => {
  const violation = violationOf(method, path, status, body);
  if (violation) throw new Error(`not what the official description says: ${violation}`);
});

/** Repeats the unit tests of the cloud, and validates every response against the official description. */
describe.runIf(hasOpenApi)("responses match the official description", async () => {
  for (const part of ["traps", "transport", "listing", "actions", "faults", "snapshot", "zones"]) {
    await import(`../unit/dev-env/cloud/${part}.test.ts`);
  }
});

/** Calls the whole API once. */
test("every route responds as the official description says", async () => {
  const cloud = await aCloud();
  const ok = async (line: string, body?: unknown): Promise<Json> => {
    const reply = await call(cloud, line, body);
    expect(reply.status, `${line}: ${reply.code} ${reply.message}`).toBeLessThan(300);
    return reply.body;
  };

  for (const kind of ["locations", "server_types", "load_balancer_types", "images", "isos"]) {
    const list = await ok(`GET /${kind}?sort=name&sort=id:desc`);
    await ok(`GET /${kind}/${list[kind][0].id}`);
  }
  for (const path of ["/pricing", "/volumes", "/floating_ips"]) await ok(`GET ${path}`);
  for (const path of ["/datacenters", "/datacenters/1"]) expect((await call(cloud, `GET ${path}`)).status).toBe(410);

  const { network } = await ok("POST /networks", {
    name: "net",
    ip_range: "10.0.0.0/16",
    subnets: [{ type: "cloud", network_zone: "eu-central", ip_range: "10.0.1.0/24" }],
    routes: [{ destination: "10.100.1.0/24", gateway: "10.0.1.1" }],
  });
  const onNetwork = (action: string, body: unknown) => ok(`POST /networks/${network.id}/actions/${action}`, body);
  await onNetwork("add_subnet", { type: "cloud", network_zone: "eu-central" });
  await onNetwork("delete_subnet", { ip_range: "10.0.0.0/24" });
  await onNetwork("add_route", { destination: "10.100.2.0/24", gateway: "10.0.1.1" });
  await onNetwork("delete_route", { destination: "10.100.2.0/24", gateway: "10.0.1.1" });
  await onNetwork("change_ip_range", { ip_range: "10.0.0.0/15" });
  await onNetwork("change_protection", { delete: false });
  await ok(`PUT /networks/${network.id}`, { labels: { a: "b" }, expose_routes_to_vswitch: true });

  const { ssh_key } = await ok("POST /ssh_keys", { name: "key", public_key: KEY });
  await ok(`PUT /ssh_keys/${ssh_key.id}`, { name: "other" });
  const { placement_group } = await ok("POST /placement_groups", { name: "group", type: "spread" });
  await ok(`PUT /placement_groups/${placement_group.id}`, { labels: {} });
  const rules = [{ direction: "in", protocol: "tcp", port: "80", source_ips: ["0.0.0.0/0", "2001:DB8:0::/64"] }];
  const { firewall } = await ok("POST /firewalls", { name: "wall", rules });
  expect(firewall.rules[0].source_ips[1]).toBe("2001:db8::/64");

  const { server } = await ok("POST /servers", {
    name: "node-1",
    server_type: "cpx22",
    image: "ubuntu-24.04",
    location: "fsn1",
    ssh_keys: [ssh_key.id],
    networks: [network.id],
    firewalls: [{ firewall: firewall.id }],
    placement_group: placement_group.id,
    labels: { role: "web" },
  });
  const onServer = (action: string, body?: unknown) => ok(`POST /servers/${server.id}/actions/${action}`, body);
  for (const action of ["reboot", "reset", "shutdown", "poweron", "poweroff"]) await onServer(action);
  await onServer("change_alias_ips", { network: network.id, alias_ips: ["10.0.1.77"] });
  await onServer("detach_from_network", { network: network.id });
  await onServer("attach_to_network", { network: network.id, ip: "10.0.1.5" });
  await onServer("remove_from_placement_group");
  await onServer("add_to_placement_group", { placement_group: placement_group.id });
  await onServer("change_type", { server_type: "cpx32", upgrade_disk: false });
  await onServer("change_dns_ptr", { ip: server.public_net.ipv4.ip, dns_ptr: "node-1.example.com" });
  await onServer("change_protection", { delete: false, rebuild: false });
  for (const action of ["enable_backup", "disable_backup", "enable_rescue", "disable_rescue"]) await onServer(action);
  await onServer("attach_iso", { iso: 122630 });
  for (const action of ["detach_iso", "reset_password", "request_console"]) await onServer(action);
  await onServer("rebuild", { image: "debian-12" });
  await ok(`PUT /servers/${server.id}`, { name: "node-one" });

  const onWall = (action: string, body: unknown) => ok(`POST /firewalls/${firewall.id}/actions/${action}`, body);
  const byLabel = [{ type: "label_selector", label_selector: { selector: "role=web" } }];
  await onWall("apply_to_resources", { apply_to: byLabel });
  await onWall("set_rules", { rules });
  await ok(`GET /firewalls/${firewall.id}`);
  await onWall("remove_from_resources", { remove_from: [...byLabel, { type: "server", server: { id: server.id } }] });
  await ok(`PUT /firewalls/${firewall.id}`, { name: "fence" });

  const { primary_ip } = await ok("POST /primary_ips", { name: "ip", type: "ipv4", location: "fsn1" });
  const onIp = (id: number, action: string, body?: unknown) => ok(`POST /primary_ips/${id}/actions/${action}`, body);
  await onServer("poweroff");
  await onIp(server.public_net.ipv4.id, "unassign");
  await onIp(primary_ip.id, "assign", { assignee_type: "server", assignee_id: server.id });
  await onIp(primary_ip.id, "unassign");
  await onIp(primary_ip.id, "change_dns_ptr", { ip: primary_ip.ip, dns_ptr: null });
  await onIp(primary_ip.id, "change_protection", { delete: false });
  await ok(`PUT /primary_ips/${primary_ip.id}`, { auto_delete: false });

  const pem = issueCertificate({ domainNames: ["a.example.com"], serial: 1, notBefore: 0, notAfter: 4e12 });
  const uploaded = { name: "up", certificate: pem.certificate, private_key: pem.privateKey };
  const { certificate } = await ok("POST /certificates", uploaded);
  const failing = { name: "managed", type: "managed", domain_names: ["x.fail.example"] };
  const managed = await ok("POST /certificates", failing);
  await ok(`POST /certificates/${managed.certificate.id}/actions/retry`);
  await ok(`PUT /certificates/${certificate.id}`, { labels: { x: "" } });

  const { load_balancer } = await ok("POST /load_balancers", {
    name: "lb",
    load_balancer_type: 1,
    network_zone: "eu-central",
    network: network.id,
    algorithm: { type: "least_connections" },
    services: [
      { protocol: "https", http: { certificates: [certificate.id], redirect_http: true } },
      { protocol: "http", listen_port: 8080 },
    ],
    targets: [
      { type: "server", server: { id: server.id }, use_private_ip: true },
      { type: "label_selector", label_selector: { selector: "role=web" }, use_private_ip: true },
      { type: "ip", ip: { ip: "203.0.113.9" } },
    ],
  });
  const onLb = (action: string, body?: unknown) =>
    ok(`POST /load_balancers/${load_balancer.id}/actions/${action}`, body);
  await ok(`GET /certificates/${certificate.id}`);
  await onLb("add_service", { protocol: "tcp", listen_port: 22, destination_port: 22 });
  await onLb("update_service", { listen_port: 22, destination_port: 2222 });
  await onLb("delete_service", { listen_port: 22 });
  await onLb("remove_target", { type: "ip", ip: { ip: "203.0.113.9" } });
  await onLb("disable_public_interface");
  await onLb("enable_public_interface");
  await onLb("add_target", { type: "ip", ip: { ip: "203.0.113.10" } });
  await ok(`GET /networks/${network.id}/members?type=server`);
  await onLb("detach_from_network", { network: network.id });
  await onLb("attach_to_network", { network: network.id });
  await onLb("change_algorithm", { type: "round_robin" });
  await onLb("change_type", { load_balancer_type: "lb21" });
  await onLb("change_dns_ptr", { ip: load_balancer.public_net.ipv4.ip, dns_ptr: "lb.example.com" });
  await onLb("change_protection", { delete: false });
  await ok(`PUT /load_balancers/${load_balancer.id}`, { name: "balancer" });
  const span = "start=2026-11-01T00:00:00Z&end=2026-11-01T01:00:00Z";
  await ok(`GET /load_balancers/${load_balancer.id}/metrics?type=bandwidth&${span}`);
  await ok(`GET /servers/${server.id}/metrics?type=cpu&${span}&step=60`);

  const { zone } = await ok("POST /zones", { name: "example.com", mode: "primary", labels: { a: "b" } });
  await ok("POST /zones/example.com/actions/change_ttl", { ttl: 600 });
  await ok("POST /zones/example.com/actions/change_protection", { delete: false });
  await ok("PUT /zones/example.com", { labels: {} });
  const server1 = { address: "203.0.113.1" };
  await ok("POST /zones", { name: "example.org", mode: "secondary", primary_nameservers: [server1] });
  const servers = [{ address: "2001:db8::1", port: 5353, tsig_key: "a2V5", tsig_algorithm: "hmac-sha256" }];
  await ok("POST /zones/example.org/actions/change_primary_nameservers", { primary_nameservers: servers });
  await ok("GET /zones?name=example.org");
  await ok("DELETE /zones/example.org");
  const web = { name: "www", type: "A", records: [{ value: "203.0.113.7", comment: "web" }] };
  await ok(`POST /zones/${zone.id}/rrsets`, web);
  const onSet = (action: string, body: unknown) => ok(`POST /zones/example.com/rrsets/www/A/actions/${action}`, body);
  await onSet("change_ttl", { ttl: 300 });
  await onSet("add_records", { ttl: 300, records: [{ value: "203.0.113.8" }] });
  await onSet("update_records", { records: [{ value: "203.0.113.8", comment: "spare" }] });
  await onSet("remove_records", { records: [{ value: "203.0.113.7" }] });
  await onSet("set_records", { records: [{ value: "203.0.113.9" }] });
  await onSet("change_protection", { change: false });
  await ok("PUT /zones/example.com/rrsets/www/A", { labels: { a: "b" } });
  await ok("GET /zones/example.com/rrsets?type=A&type=NS&sort=name&per_page=100");
  await ok("GET /zones/example.com/rrsets/@/SOA");
  await ok("DELETE /zones/example.com/rrsets/www/A");

  const rows: Readonly<Record<string, number>> = {
    load_balancers: load_balancer.id,
    servers: server.id,
    networks: network.id,
    certificates: managed.certificate.id,
    firewalls: firewall.id,
    primary_ips: primary_ip.id,
    placement_groups: placement_group.id,
    ssh_keys: ssh_key.id,
    zones: zone.id,
  };
  for (const [kind, id] of Object.entries(rows)) {
    await ok(`GET /${kind}?per_page=1&name=x`);
    await ok(`GET /${kind}/${id}`);
    if (kind === "placement_groups" || kind === "ssh_keys") continue;
    const { actions } = await ok(`GET /${kind}/${id}/actions?sort=id:desc`);
    await ok(`GET /${kind}/actions?status=success`);
    await ok(`GET /${kind}/actions/${actions[0].id}`);
    await ok(`GET /${kind}/${id}/actions/${actions[0].id}`);
    await ok(`GET /actions/${actions[0].id}`);
    await ok(`GET /actions?id=${actions[0].id}`);
  }
  for (const [kind, id] of Object.entries(rows)) await ok(`DELETE /${kind}/${id}`);

  const answered = new Set(cloud.journal.entries.map((entry) => `${entry.method} ${entry.route}`));
  const missed = routes.map(({ method, path }) => `${method} ${path}`).filter((line) => !answered.has(line));
  expect(missed).toEqual([]);
});
