/** 200 random Services at once. */
import type { CoreV1Event, V1Service } from "@kubernetes/client-node";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { LoadBalancer } from "../../dev-env/cloud/resources/load-balancer-view.ts";
import { aCrowd, type Member, POOLS, wantedFacts } from "../support/crowd.ts";
import { eventually } from "../support/eventually.ts";
import { startWorld, type World } from "../support/world.ts";

const PREFIX = "load-balancer.hetzner.cloud/";
const CROWD = aCrowd(200, 7);
const FOREIGN = CROWD.filter(({ isForeign }) => isForeign);
const REFUSED = CROWD.filter(({ broken, isForeign }) => broken.length > 0 && !isForeign);
const SERVED = CROWD.filter(({ broken, isForeign }) => broken.length === 0 && !isForeign);
/** More load balancers than a real network allows, because this tests the controller. */
const CLOUD = { rateLimit: "off", maxNetworkMembers: 1_000 } as const;
const PATIENCE = { timeoutMs: 110_000, intervalMs: 500 };

describe("200 Services at once: valid, invalid and hostile", () => {
  let world: World;

  beforeAll(async () => {
    world = await startWorld({ nodes: 0, cloud: CLOUD });
    for (const [index, pool] of Object.values(POOLS).entries()) {
      await world.addNode(index + 1, { labels: pool ? { pool } : {} });
    }
    // Without a default, every Service without a type gets an Event.
    world.startController([], { HCLOUD_LOAD_BALANCERS_TYPE: "lb11" });
    await Promise.all(CROWD.map((member) => create(member)));
  });
  afterAll(() => world?.[Symbol.asyncDispose]());

  it("includes all kinds", () => {
    expect([FOREIGN, REFUSED, SERVED].map(({ length }) => length > 10)).toEqual([true, true, true]);
  });

  it("gives each valid Service exactly what it requests", async () => {
    await eventually(async () => {
      const services = await readAll();
      const facts = SERVED.map(({ name }) => [name, factsOf(world, services.get(name))]);
      expect(Object.fromEntries(facts)).toEqual(Object.fromEntries(SERVED.map((one) => [one.name, wantedFacts(one)])));
    }, PATIENCE);
  });

  it("warns each invalid Service exactly once, names the invalid annotations, and creates nothing", async () => {
    await eventually(async () => {
      const warnings = await warningsByName();
      expect(REFUSED.filter(({ name }) => !warnings.has(name))).toEqual([]);
    }, PATIENCE);
    const warnings = await warningsByName();
    for (const { name, broken } of REFUSED) {
      const failures = (warnings.get(name) ?? []).filter(({ reason }) => reason === "SyncLoadBalancerFailed");
      expect(failures, name).toEqual([expect.objectContaining({ count: 1 })]);
      for (const annotation of broken) expect(failures[0]?.message, name).toContain(`${PREFIX}${annotation}: `);
    }
    expect(world.cloud.state.loadBalancers.size).toBe(SERVED.length);
  });

  it("reports annotations without effect, and nothing else", async () => {
    await eventually(async () => {
      const warnings = await warningsByName();
      for (const { name, misspelt } of [...SERVED, ...REFUSED]) {
        const others = (warnings.get(name) ?? []).filter(({ reason }) => reason !== "SyncLoadBalancerFailed");
        const told = others.map(({ reason, message }) => `${reason}: ${message}`);
        const wanted = misspelt.map((key) => `UnknownAnnotation: annotation ${PREFIX}${key} has no effect`);
        expect(told, name).toEqual(wanted.map((text) => expect.stringContaining(text)));
      }
    }, PATIENCE);
    const warnings = await warningsByName();
    const isFailure = ({ reason }: CoreV1Event) => reason === "SyncLoadBalancerFailed";
    expect(SERVED.filter(({ name }) => warnings.get(name)?.some(isFailure))).toEqual([]);
  });

  it("does not touch Services of other controllers", async () => {
    const services = await readAll();
    const events = await world.events();
    for (const { name } of FOREIGN) {
      expect(services.get(name)?.metadata?.finalizers, name).toBeUndefined();
      expect(services.get(name)?.status?.loadBalancer?.ingress, name).toBeUndefined();
      expect(events.filter(({ involvedObject }) => involvedObject.name === name)).toEqual([]);
    }
  });

  it("deletes everything with the Services", async () => {
    await world.core.deleteCollectionNamespacedService({ namespace: "default" });
    await eventually(async () => {
      const left = [...(await readAll()).keys()].filter((name) => name.startsWith("member"));
      expect(left).toEqual([]);
    }, PATIENCE);
    expect(world.cloud.state.loadBalancers.values()).toEqual([]);
  });

  function create({ name, annotations, ports, isForeign }: Member): Promise<V1Service> {
    const prefixed = Object.entries(annotations).map(([key, value]) => [PREFIX + key, value]);
    const spec = {
      type: "LoadBalancer",
      ports: ports.map((port) => ({ name: `p${port}`, port })),
      ...(isForeign && { loadBalancerClass: "example.com/other" }),
    };
    const body = { metadata: { name, annotations: Object.fromEntries(prefixed) }, spec };
    return world.core.createNamespacedService({ namespace: "default", body });
  }

  async function readAll(): Promise<ReadonlyMap<string, V1Service>> {
    const { items } = await world.core.listNamespacedService({ namespace: "default" });
    return new Map(items.map((service) => [service.metadata?.name ?? "", service]));
  }

  async function warningsByName(): Promise<ReadonlyMap<string, readonly CoreV1Event[]>> {
    const events = await world.events();
    const warnings = events.filter(
      ({ type, involvedObject }) => type === "Warning" && involvedObject.kind === "Service",
    );
    return Map.groupBy(warnings, ({ involvedObject }) => involvedObject.name ?? "");
  }
});

/** The actual load balancer of a Service, in the form of `wantedFacts`; undefined if there is none. */
function factsOf({ cloud }: World, service: V1Service | undefined) {
  const uid = service?.metadata?.uid;
  const balancer = cloud.state.loadBalancers.values().find(({ labels }) => labels["hcloud-ccm/service-uid"] === uid);
  if (!balancer) return undefined;
  const targets = balancer.targets.flatMap((target) => (target.type === "server" ? [target] : []));
  return {
    type: balancer.load_balancer_type.name,
    algorithm: balancer.algorithm.type,
    team: balancer.labels.team,
    rdns: balancer.public_net.ipv4.dns_ptr?.includes("example.com") ? balancer.public_net.ipv4.dns_ptr : undefined,
    isPrivate: targets.every(({ use_private_ip }) => use_private_ip),
    nodes: targets.map(({ server }) => cloud.state.servers.get(server.id)?.name).toSorted(),
    listeners: balancer.services.map(listenerFacts).toSorted((a, b) => a.port - b.port),
    ingress: (service?.status?.loadBalancer?.ingress ?? []).map(({ ip, hostname }) => hostname ?? kindOf(balancer, ip)),
  };
}

function listenerFacts({
  listen_port,
  protocol,
  proxyprotocol,
  http,
  health_check: check,
}: LoadBalancer["services"][number]) {
  return {
    port: listen_port,
    protocol,
    proxyprotocol,
    ...(protocol === "http" && {
      sticky: http?.sticky_sessions,
      cookie: http?.cookie_name,
      lifetime: http?.cookie_lifetime,
      idle: http?.timeout_idle,
    }),
    check: check.protocol,
    interval: check.interval,
    timeout: check.timeout,
    retries: check.retries,
    ...(check.protocol === "http" && { path: check.http?.path }),
  };
}

function kindOf({ public_net, private_net }: LoadBalancer, ip: string | undefined): string | undefined {
  const known = new Map([
    [public_net.ipv4.ip, "ipv4"],
    [public_net.ipv6.ip, "ipv6"],
    ...private_net.map((net) => [net.ip, "private"] as const),
  ]);
  return known.get(ip ?? null);
}
