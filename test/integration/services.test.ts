import type { V1LoadBalancerIngress } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LoadBalancer } from "../../controller/hcloud/api.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

/** One Service: its annotations, the resulting load balancer, and the load balancer after their removal. */
interface Row {
  readonly title: string;
  readonly name: string;
  readonly annotations: Readonly<Record<string, string>>;
  readonly ports?: readonly number[];
  readonly asked: object;
  readonly restored: object;
}

const TCP = { protocol: "tcp", proxyprotocol: false };
const FIRST = (listener: object) => ({ services: [listener] });

const ROWS: readonly Row[] = [
  {
    title: "HCCM A1: its name, which stays",
    name: "named",
    annotations: { name: "edge" },
    asked: { name: "edge" },
    restored: { name: "edge" },
  },
  {
    title: "HCCM A3: a network zone instead of a location",
    name: "zoned",
    annotations: { location: "", "network-zone": "eu-central" },
    asked: { location: { network_zone: "eu-central" } },
    restored: { location: { network_zone: "eu-central" } },
  },
  {
    title: "HCCM A4: its type, which stays",
    name: "typed",
    annotations: { type: "lb21" },
    asked: { load_balancer_type: { name: "lb21" } },
    restored: { load_balancer_type: { name: "lb21" } },
  },
  {
    title: "unlike HCCM A5: its algorithm",
    name: "algorithm",
    annotations: { "algorithm-type": "least_connections" },
    asked: { algorithm: { type: "least_connections" } },
    restored: { algorithm: { type: "round_robin" } },
  },
  {
    title: "unlike HCCM A6, HCCM A11: no public interface, and private targets",
    name: "private",
    annotations: { "disable-public-network": "true", "use-private-ip": "true" },
    asked: { public_net: { enabled: false }, targets: Array(3).fill({ use_private_ip: true }) },
    restored: { public_net: { enabled: true }, targets: Array(3).fill({ use_private_ip: false }) },
  },
  {
    title: "unlike HCCM A7, A8: the names of its addresses",
    name: "pointed",
    annotations: { "ipv4-rdns": "a.example.com", "ipv6-rdns": "b.example.com" },
    asked: { public_net: { ipv4: { dns_ptr: "a.example.com" }, ipv6: { dns_ptr: "b.example.com" } } },
    restored: { public_net: { ipv4: { dns_ptr: expect.stringMatching(/^static\./) }, ipv6: { dns_ptr: null } } },
  },
  {
    title: "HCCM A9: its private address, where it stays",
    name: "addressed",
    annotations: { "private-ipv4": "10.0.1.200" },
    asked: { private_net: [{ ip: "10.0.1.200" }] },
    restored: { private_net: [{ ip: "10.0.1.200" }] },
  },
  {
    title: "unlike HCCM A10: its subnet, where it stays",
    name: "subnetted",
    annotations: { "private-subnet-ip-range": "10.0.1.0/24" },
    asked: { private_net: [{ ip: expect.stringMatching(/^10\.0\.1\./) }] },
    restored: { private_net: [{ ip: expect.stringMatching(/^10\.0\.1\./) }] },
  },
  {
    title: "HCCM A15: the nodes it sends to",
    name: "selective",
    annotations: { "node-selector": "kubernetes.io/hostname in (node-1)" },
    asked: { targets: [{ type: "server" }] },
    restored: { targets: Array(3).fill({ type: "server" }) },
  },
  {
    title: "unlike HCCM A17: the PROXY protocol",
    name: "proxied",
    annotations: { "uses-proxyprotocol": "true" },
    asked: FIRST({ proxyprotocol: true }),
    restored: FIRST(TCP),
  },
  {
    title: "HCCM A16, A18 to A20, A22, unlike HCCM V4: http",
    name: "http",
    annotations: {
      protocol: "http",
      "http-cookie-name": "SID",
      "http-cookie-lifetime": "1m",
      "http-timeout-idle": "40s",
      "http-sticky-sessions": "true",
    },
    asked: FIRST({
      protocol: "http",
      http: { cookie_name: "SID", cookie_lifetime: 60, timeout_idle: 40, sticky_sessions: true },
    }),
    restored: FIRST(TCP),
  },
  {
    title: "HCCM A28 to A36, H2: health checks",
    name: "checked",
    annotations: {
      "health-check-protocol": "https",
      "health-check-port": "8080",
      "health-check-interval": "5s",
      "health-check-timeout": "4s",
      "health-check-retries": "2",
      "health-check-http-domain": "example.com",
      "health-check-http-path": "/up",
      "health-check-http-validate-certificate": "false",
      "http-status-codes": "204,3??",
    },
    asked: FIRST({
      health_check: {
        protocol: "http",
        port: 8080,
        interval: 5,
        timeout: 4,
        retries: 2,
        http: { domain: "example.com", path: "/up", tls: false, status_codes: ["204", "3??"] },
      },
    }),
    restored: FIRST({ health_check: { protocol: "tcp", interval: 15, timeout: 10, retries: 3 } }),
  },
  {
    title: "unlike HCCM H3: a path alone makes an http health check",
    name: "path",
    annotations: { protocol: "http", "health-check-http-path": "/up" },
    asked: FIRST({ health_check: { protocol: "http", http: { path: "/up" } } }),
    restored: FIRST({ health_check: { protocol: "tcp" } }),
  },
  {
    title: "unlike HCCM V5: options of one port",
    name: "mixed",
    annotations: { "p81.protocol": "http", "82.uses-proxyprotocol": "true" },
    ports: [80, 81, 82],
    asked: { services: [TCP, { protocol: "http" }, { protocol: "tcp", proxyprotocol: true }] },
    restored: { services: [TCP, TCP, TCP] },
  },
  {
    title: "its labels",
    name: "labelled",
    annotations: { labels: "team=web" },
    asked: { labels: { team: "web" } },
    restored: { labels: expect.not.objectContaining({ team: "web" }) },
  },
  {
    title: "its protection",
    name: "protected",
    annotations: { "delete-protection": "true" },
    asked: { protection: { delete: true } },
    restored: { protection: { delete: false } },
  },
];

/** The expected status, by name of the Service. */
const STATUS: Readonly<
  Record<string, readonly [Readonly<Record<string, string>>, (entries: V1LoadBalancerIngress[]) => void]>
> = {
  hostname: [{ hostname: "lb.example.com" }, (entries) => expect(entries).toEqual([{ hostname: "lb.example.com" }])],
  "no-ipv6": [
    { "ipv6-disabled": "true" },
    (entries) => expect(entries.filter(({ ip }) => ip?.includes(":"))).toEqual([]),
  ],
  "no-private": [
    { "disable-private-ingress": "true" },
    (entries) => expect(entries.filter(({ ip }) => ip?.startsWith("10."))).toEqual([]),
  ],
};

describe("many Services at once, each with another option", () => {
  let world: World;
  const SLOW = { timeoutMs: 90_000, intervalMs: 250 };
  const key = (name: string) => `load-balancer.hetzner.cloud/${name}`;
  const service = (name: string) => world.core.readNamespacedService({ namespace: "default", name });
  const balancerOf = async (name: string): Promise<LoadBalancer> => {
    const uid = (await service(name)).metadata?.uid;
    const all = world.cloud.state.loadBalancers.values() as readonly LoadBalancer[];
    const found = all.find(({ labels }) => labels["hcloud-ccm/service-uid"] === uid);
    if (!found) throw new Error(`no balancer for ${name}`);
    return { ...found, services: found.services.toSorted((a, b) => a.listen_port - b.listen_port) };
  };

  beforeAll(async () => {
    world = await startWorld({ nodes: 3 });
    await world.changeCloud("POST", `/networks/${world.networkId}/actions/add_subnet`, {
      type: "cloud",
      ip_range: "10.0.9.0/24",
      network_zone: "eu-central",
    });
    for (const { name, annotations, ports } of ROWS) await world.createService(name, annotations, ports);
    for (const [name, [annotations]] of Object.entries(STATUS)) await world.createService(name, annotations);
    await world.core.createNamespacedService({
      namespace: "default",
      body: {
        metadata: { name: "local", annotations: { [key("location")]: "fsn1" } },
        spec: { type: "LoadBalancer", externalTrafficPolicy: "Local", ports: [{ port: 80 }] },
      },
    });
    world.startController();
    await eventually(() => expect(world.cloud.state.loadBalancers.values()).toHaveLength(ROWS.length + 4), SLOW);
  }, 180_000);
  afterAll(() => world[Symbol.asyncDispose]());

  it.each(ROWS)("$title", async ({ name, asked }) => {
    await eventually(async () => expect(await balancerOf(name)).toMatchObject(asked), SLOW);
  });

  it.each(Object.keys(STATUS))("HCCM A12 to A14, S19: the status of %s", async (name) => {
    await eventually(async () => {
      const entries = (await service(name)).status?.loadBalancer?.ingress ?? [];
      expect(entries).not.toEqual([]);
      STATUS[name]?.[1](entries);
    }, SLOW);
  });

  it("HCCM S20: sets ipMode Proxy, so that traffic goes through the load balancer", async () => {
    const modes = async (name: string) => {
      const entries = (await service(name)).status?.loadBalancer?.ingress ?? [];
      return [...new Set(entries.map(({ ipMode }) => ipMode))];
    };
    await eventually(async () => expect(await modes("proxied")).toEqual(["Proxy"]), SLOW);
    await eventually(async () => expect(await modes("mixed")).toEqual(["Proxy"]), SLOW);
    await eventually(async () => expect(await modes("typed")).toEqual(["VIP"]), SLOW);
  });

  it("unlike HCCM H4: checks the health of kube-proxy with the policy Local", async () => {
    const port = (await service("local")).spec?.healthCheckNodePort;
    expect(port).toBeGreaterThan(0);
    await eventually(async () => {
      const [listener] = (await balancerOf("local")).services;
      expect(listener?.health_check).toMatchObject({ protocol: "http", port, http: { path: "/healthz" } });
    }, SLOW);
  });

  it("makes no further requests once everything is in sync", async () => {
    await eventually(async () => {
      const { items } = await world.core.listNamespacedService({ namespace: "default" });
      const waiting = items.filter(
        ({ spec, status }) => spec?.type === "LoadBalancer" && !status?.loadBalancer?.ingress,
      );
      expect(waiting.map(({ metadata }) => metadata?.name)).toEqual([]);
      expect(world.cloud.state.networks.get(world.networkId)?.routes).toHaveLength(3);
    }, SLOW);
    const before = world.cloud.journal.writes.length;
    const calls = () => world.cloud.journal.count({ method: "GET", path: "**/load_balancers" });
    const seen = calls();
    await eventually(() => expect(calls()).toBeGreaterThan(seen + 3));
    expect(world.cloud.journal.writes.slice(before).map(({ route }) => route)).toEqual([]);
  });

  describe("after the annotations are removed", () => {
    let ids: Readonly<Record<string, number>>;

    beforeAll(async () => {
      ids = Object.fromEntries(await Promise.all(ROWS.map(async ({ name }) => [name, (await balancerOf(name)).id])));
      for (const { name } of ROWS) {
        const value = { [key("location")]: "fsn1" };
        const body = [{ op: "replace", path: "/metadata/annotations", value }];
        await world.core.patchNamespacedService({ namespace: "default", name, body });
      }
    }, 60_000);

    it.each(ROWS)("$title", async ({ name, restored }) => {
      await eventually(async () => expect(await balancerOf(name)).toMatchObject(restored), SLOW);
      expect((await balancerOf(name)).id).toBe(ids[name]);
    });

    it("leaves no bookkeeping labels", async () => {
      await eventually(async () => {
        for (const { name } of ROWS) {
          const marks = Object.keys((await balancerOf(name)).labels).filter((label) => label.startsWith("lotse/"));
          expect(marks, name).toEqual([]);
        }
      }, SLOW);
    });
  });
});
