/** Pitfalls of the provider, with the real plugin: each is reproduced, or shown not to apply. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Cloud, type CloudOptions, startCloud } from "../../../dev-env/cloud/cloud.ts";
import { ManualClock } from "../../../dev-env/cloud/state/clock.ts";
import { eventually } from "../../support/eventually.ts";
import { type Deployed, FAST_POLLS, Plugin, type Properties } from "./plugin.ts";

let cloud: Cloud;
let plugin: Plugin;

async function start(options: CloudOptions = {}, settings?: Properties): Promise<void> {
  cloud = await startCloud({ rateLimit: "off", ...options });
  plugin = await Plugin.start(cloud, settings);
}

beforeEach(() => start());

afterEach(async () => {
  await plugin.stop();
  await cloud.stop();
});

/** Replaces the default cloud. */
async function restart(options: CloudOptions, settings?: Properties): Promise<void> {
  await plugin.stop();
  await cloud.stop();
  await start(options, settings);
}

const LB = "loadBalancer:LoadBalancer";
const SERVICE = "loadBalancerService:LoadBalancerService";
const TARGET = "loadBalancerTarget:LoadBalancerTarget";
const SERVER = { name: "node", serverType: "cx23", image: "ubuntu-24.04", location: "fsn1" };
const BARE = { name: "lb", loadBalancerType: "lb11", location: "fsn1" };
const balancer = (extra: Properties = {}) => plugin.create(LB, { ...BARE, ...extra });
const tcp = (lb: Deployed, extra: Properties = {}) => ({
  loadBalancerId: lb.id,
  protocol: "tcp",
  listenPort: 80,
  destinationPort: 30080,
  ...extra,
});

describe("pitfalls of the provider", () => {
  test("pitfall 1: any error while reading a listener or a route drops it from the state", async () => {
    const lb = await balancer();
    const service = await plugin.create(SERVICE, tcp(lb));
    const network = cloud.addNetwork();
    const wanted = { networkId: network.id, destination: "10.100.1.0/24", gateway: "10.0.1.1" };
    const route = await plugin.create("networkRoute:NetworkRoute", wanted);
    cloud.faults.add({ method: "GET", effect: { kind: "error", code: "server_error" } });
    expect(await plugin.read(service)).toBeUndefined();
    expect(await plugin.read(route)).toBeUndefined();
    await plugin.delete(route);
    cloud.faults.clear();
    expect(cloud.state.networks.get(network.id)?.routes).toHaveLength(1);
    await expect(plugin.create(SERVICE, tcp(lb))).rejects.toThrow(/source_port_already_used/);
  });

  test("pitfall 2: deleting a missing subnet of an existing network makes the provider panic", async () => {
    const network = cloud.addNetwork({ subnet: null });
    const wanted = { networkId: network.id, type: "cloud", networkZone: "eu-central", ipRange: "10.0.1.0/24" };
    const subnet = await plugin.create("networkSubnet:NetworkSubnet", wanted);
    await plugin.delete(subnet);
    await expect(plugin.delete(subnet)).rejects.toThrow();
    await expectPanic();
  });

  test("pitfall 4: invalid_input always has details here, so the provider reports it instead of panicking", async () => {
    const lb = await balancer();
    const bad = tcp(lb, { healthCheck: { protocol: "tcp", port: 1, interval: 1, timeout: 1, retries: 1 } });
    await expect(plugin.create(SERVICE, bad)).rejects.toThrow(/invalid_input/);
    expect(plugin.isAlive).toBe(true);
  });

  test("pitfall 6: targets are matched by text", async () => {
    const lb = await balancer();
    const selector = { type: "label_selector", loadBalancerId: Number(lb.id), labelSelector: "role=web" };
    const target = await plugin.create(TARGET, selector);
    expect(await plugin.read(target)).toBeDefined();
    const respelled = { ...target, state: { ...target.state, labelSelector: "role == web" } };
    expect(await plugin.read(respelled)).toBeUndefined();
    const ip = await plugin.create(TARGET, { type: "ip", loadBalancerId: Number(lb.id), ip: "2001:db8::5" });
    expect(await plugin.read({ ...ip, state: { ...ip.state, ip: "2001:db8:0::5" } })).toBeUndefined();
  });

  test("pitfall 7: inline targets panic on an update beside a selector target", async () => {
    const [one, two] = [cloud.addServer({ name: "one" }), cloud.addServer({ name: "two" })];
    const inline = (...ids: readonly number[]) => ({
      ...BARE,
      targets: ids.map((serverId) => ({ type: "server", serverId })),
    });
    const lb = await plugin.create(LB, inline(one.id));
    expect(cloud.state.loadBalancers.get(Number(lb.id))?.targets).toMatchObject([{ server: { id: one.id } }]);
    await plugin.create(TARGET, { type: "label_selector", loadBalancerId: Number(lb.id), labelSelector: "a=b" });
    await expect(plugin.update(lb, inline(one.id, two.id))).rejects.toThrow();
    await expectPanic();
  });

  test("pitfall 8: an omitted health check never differs, a partial one is rejected, zero retries fail, removal has no effect", async () => {
    const lb = await balancer();
    const health = { protocol: "tcp", port: 30080, interval: 5, timeout: 4, retries: 2 };
    const service = await plugin.create(SERVICE, tcp(lb));
    expect(await plugin.diff(service, tcp(lb))).toEqual({ action: "none", keys: [] });
    const { retries, ...partial } = health;
    await expect(plugin.check(SERVICE, tcp(lb, { healthCheck: partial }))).rejects.toThrow(/retries/);
    const zero = tcp(lb, { listenPort: 81, healthCheck: { ...health, retries: 0 } });
    await expect(plugin.create(SERVICE, zero)).rejects.toThrow(/invalid_input/);
    const given = await plugin.update(service, tcp(lb, { healthCheck: health }));
    expect(await plugin.diff(given, tcp(lb))).toEqual({ action: "none", keys: [] });
    expect(cloud.state.loadBalancers.get(Number(lb.id))?.services[0]?.health_check.retries).toBe(retries);
  });

  test("pitfall 9: without a cookie in the state, an update sends an empty one, which is rejected", async () => {
    const lb = await balancer();
    const http = (extra: Properties = {}) => tcp(lb, { protocol: "http", listenPort: 8080, ...extra });
    const service = await plugin.create(SERVICE, http());
    expect(service.state.http).toMatchObject({ cookieName: "HCLBSTICKY", cookieLifetime: 300 });
    const sticky = http({ http: { stickySessions: true } });
    expect((await plugin.update(service, sticky)).state.http).toMatchObject({ stickySessions: true });
    const { http: _, ...bare } = service.state;
    const forgetful = { ...service, state: bare };
    await expect(plugin.update(forgetful, sticky)).rejects.toThrow(/invalid_input/);
  });

  test("pitfall 10: http settings are stored for http listeners only, sticky sessions only if enabled", async () => {
    const lb = await balancer();
    const service = await plugin.create(SERVICE, tcp(lb, { protocol: "http" }));
    expect(service.state.http).toMatchObject({ redirectHttp: false });
    const plain = await plugin.create(SERVICE, tcp(lb, { listenPort: 22 }));
    expect(plain.state.http ?? null).toBeNull();
  });

  test("pitfall 11: an imported network attachment has networkId, so a program with subnetId would replace it", async () => {
    const lb = await balancer();
    const network = cloud.addNetwork();
    const type = "loadBalancerNetwork:LoadBalancerNetwork";
    const subnetId = `${network.id}-10.0.1.0/24`;
    const attachment = await plugin.create(type, { loadBalancerId: Number(lb.id), subnetId });
    const imported = await plugin.read({ type, id: attachment.id });
    expect(imported?.state).toMatchObject({ networkId: network.id });
    const adopted = { ...attachment, state: imported?.state ?? {} };
    expect((await plugin.diff(adopted, attachment.inputs)).action).toBe("replace");
  });

  test("pitfall 12: the provider does not disable delete protection", async () => {
    const lb = await balancer({ deleteProtection: true });
    await expect(plugin.delete(lb)).rejects.toThrow(/protected/);
    expect(cloud.state.loadBalancers.size).toBe(1);
  });

  test("pitfall 13: the delete action is not awaited, and reusing the name is a uniqueness_error", async () => {
    const lb = await balancer();
    await plugin.delete(lb);
    await expect(balancer()).resolves.toBeDefined();
    await restart({ lingeringDeletes: true, actionMs: { delete_load_balancer: 60_000 } });
    await plugin.delete(await balancer());
    await expect(balancer()).rejects.toThrow(/uniqueness_error/);
  });

  test("pitfall 14: the client retries conflict, but not locked", async () => {
    const lb = await balancer();
    const path = "/load_balancers/*/actions/add_service";
    cloud.faults.add({ path, times: 1, effect: { kind: "error", code: "locked" } });
    await expect(plugin.create(SERVICE, tcp(lb))).rejects.toThrow(/locked/);
    cloud.faults.add({ path, times: 1, effect: { kind: "error", code: "conflict" } });
    await expect(plugin.create(SERVICE, tcp(lb))).resolves.toBeDefined();
    expect(cloud.journal.count({ path })).toBe(3);
  });

  test("pitfall 15: a failed action during creation leaves an orphan that is not in the state", async () => {
    const failed = { kind: "failed-action", code: "action_failed" } as const;
    cloud.faults.add({ method: "POST", path: "/firewalls", effect: failed });
    await expect(plugin.create("firewall:Firewall", { name: "wall" })).rejects.toThrow(/action_failed/);
    expect(cloud.state.firewalls.size).toBe(1);
  });

  test("pitfall 16: a missing resource is an error for placement groups and servers, and a panic for firewalls", async () => {
    const group = await plugin.create("placementGroup:PlacementGroup", { name: "group", type: "spread" });
    await plugin.delete(group);
    await expect(plugin.delete(group)).rejects.toThrow(/not_found/);
    const server = await plugin.create("server:Server", SERVER);
    await plugin.delete(server);
    await expect(plugin.delete(server)).rejects.toThrow(/not_found/);
    const firewall = await plugin.create("firewall:Firewall", { name: "wall" });
    await plugin.delete(firewall);
    await expect(plugin.delete(firewall)).rejects.toThrow();
    await expectPanic();
  });

  test("pitfall 17: removing all labels works for networks, but not for load balancers", async () => {
    const lb = await balancer({ labels: { a: "b" } });
    expect(await plugin.diff(lb, BARE)).toEqual({ action: "none", keys: [] });
    const inputs = { name: "net", ipRange: "10.1.0.0/16" };
    const network = await plugin.create("network:Network", { ...inputs, labels: { a: "b" } });
    expect((await plugin.diff(network, inputs)).action).toBe("update");
  });

  test("pitfall 18: by default polls come after 0.5, 1, 2 … seconds", async () => {
    const clock = new ManualClock();
    await restart({ clock, actionMs: 600 }, {});
    const polls = () => cloud.journal.count({ path: "/actions" });
    const before = performance.now();
    const creation = balancer();
    await eventually(() => expect(polls()).toBe(1));
    clock.advance(600);
    await creation;
    const tookMs = performance.now() - before;
    expect(tookMs).toBeGreaterThan(1400);
    expect(polls()).toBe(2);
  });

  test("pitfall 19: a load balancer always has addresses here, so the state never contains <nil>", async () => {
    const lb = await balancer();
    expect([lb.state.ipv4, lb.state.ipv6].every((ip) => typeof ip === "string" && ip !== "<nil>")).toBe(true);
  });

  test("pitfall 20: the provider appends 1 to a server's IPv6 network", async () => {
    const server = await plugin.create("server:Server", SERVER);
    const network = cloud.state.servers.get(Number(server.id))?.public_net.ipv6?.ip ?? "";
    expect(server.state.ipv6Address).toBe(network.replace("/64", "1"));
  });

  test("pitfall 21: token and endpoint are taken from the environment", async () => {
    await restart({ token: "e".repeat(64) }, FAST_POLLS);
    await expect(balancer()).resolves.toBeDefined();
    expect(cloud.journal.count({ caller: "hcloud-go/" })).toBe(cloud.journal.entries.length);
  });

  test("pitfall 22: fields that the provider does not know are ignored", async () => {
    const lb = await balancer();
    expect(cloud.state.loadBalancers.get(Number(lb.id))?.public_net.ipv4).toHaveProperty("blocked", false);
    expect(lb.state).not.toHaveProperty("publicNet");
  });
});

/** The plugin panicked with a nil pointer. The text reaches stderr a moment later. */
async function expectPanic(): Promise<void> {
  const hasPanicked = () => !plugin.isAlive || plugin.stderr.join("").includes("panic");
  await eventually(() => expect(hasPanicked()).toBe(true), { timeoutMs: 2_000, intervalMs: 20 });
}
